"""The configuration of a Slurm cluster of one node on the loopback interface, set up to start jobs at once."""

from __future__ import annotations


def slurm_conf(directory: str, host: str, ports: tuple[int, int], slots: int) -> str:
    """All that it writes is in `directory`; it talks to nobody but itself."""
    settings = {
        "ClusterName": "bench",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={directory}/munge.socket",
        "SlurmctldPort": ports[0],
        "SlurmdPort": ports[1],
        "StateSaveLocation": f"{directory}/state",
        "SlurmdSpoolDir": f"{directory}/spool",
        "SlurmctldPidFile": f"{directory}/slurmctld.pid",
        "SlurmdPidFile": f"{directory}/slurmd.pid",
        "SlurmctldLogFile": f"{directory}/slurmctld.log",
        "SlurmdLogFile": f"{directory}/slurmd.log",
        # No control groups and no accounting: less work for each job.
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "MpiDefault": "none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "ReturnToService": 2,
        # As many processors as we say, not as many as there are.
        "SlurmdParameters": "config_overrides",
        "SchedulerParameters": "default_queue_depth=10000,batch_sched_delay=0,sched_min_interval=0",
        "MaxArraySize": 10001,
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    lines.append(f"NodeName={host} NodeAddr=127.0.0.1 CPUs={slots} State=UNKNOWN")
    lines.append("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    return "\n".join(lines) + "\n"
