"""Every setting with its unit and the reason for its default. Loaded once, frozen, handed down."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True)
class OverlaySettings:
    fanout: int = 16
    """Children per broker; 0 is the flat tree. 16 puts 4,369 brokers within three hops."""
    heartbeat: float = 2.0
    """Seconds between beats. Below 1 a busy host looks dead; above 5 a lost node is noticed late."""
    torpid: float = 6.0
    """Seconds of silence after which a child gets no new work: three beats, so that one is no alarm."""
    lost: float = 30.0
    """Seconds of silence after which a child is given up. Longer than a busy disk or a short outage."""


@dataclass(frozen=True)
class ExecSettings:
    lost_grace: float = 60.0
    """Seconds that a lost node's jobs are waited for: enough for its broker to restart. inf: for ever."""
    orphan_timeout: float | None = None
    """Seconds that tasks outlive their broker; inf keeps them. None: `orphan_timeout_for` decides."""
    kill_timeout: float = 5.0
    """Seconds between the first signal and SIGKILL: time for a program to write a checkpoint's last block."""

    mode: str = "spawn"
    """What executors do with a job: `spawn` runs its tasks; `null` runs nothing and says at once that it ended well,
    to measure the rest of the instance. Counts when an executor is started."""

    def orphan_timeout_for(self, *, has_state: bool) -> float:
        """Without a state directory no broker will come back for the tasks, so they end soon; with one, even
        an upgrade of the broker's software is over within ten minutes."""
        if self.orphan_timeout is not None:
            return self.orphan_timeout
        return 600.0 if has_state else 5.0


@dataclass(frozen=True)
class ResourceSettings:
    cores: int | None = None
    """Cores that this rank offers, not those found. None: what the host, cgroup and affinity give."""
    gpus: int | None = None
    """GPUs that this rank offers, not those found. None: what the host shows."""


@dataclass(frozen=True)
class StoreSettings:
    url: str = ""
    """The database that keeps jobs: `postgresql+psycopg://USER@HOST/DATABASE`, or `sqlite:////PATH`. Empty: a SQLite
    file in the state directory, which needs nothing else to be there. Only rank 0 uses it."""


@dataclass(frozen=True)
class JobManagerSettings:
    inactive_age_limit: float = inf
    """Seconds after its end that a job is kept. inf: for ever, since only the owner knows what is still wanted."""
    inactive_num_limit: int | None = None
    """Most inactive jobs that are kept; the oldest go first. None: no limit, for the same reason."""


@dataclass(frozen=True)
class BrokerSettings:
    quorum: int | None = None
    """Brokers online before the initial program runs. None: all, since it expects the size it asked for."""
    quorum_warn: float = 60.0
    """Seconds between log lines that say whom the quorum waits for: rare enough to read. inf: never."""
    cleanup_timeout: float = 30.0
    """Seconds that jobs get to end when the instance stops: several kill timeouts. inf: no limit."""
    shutdown_timeout: float = 30.0
    """Seconds that child brokers get to leave before their parent goes without them. inf: no limit."""


@dataclass(frozen=True)
class LogSettings:
    level: str = "info"
    """Least severe level that the ring keeps. Debug has every message: it would push transitions out."""
    stderr_level: str = "warning"
    """Least severe level on standard error. A user's program writes there too: only what needs attention."""
    ring: int = 1024
    """Entries kept for `dmesg` on each broker: about 200 KiB, and hours of a healthy instance."""


@dataclass(frozen=True)
class HostEntry:
    host: str
    """A name, or a hostlist before expansion."""
    bind: str = ""
    """ZeroMQ endpoint this host listens on; empty before expansion means the default."""
    connect: str = ""
    """ZeroMQ endpoint others reach it by; empty before expansion means the default."""


@dataclass(frozen=True)
class BootstrapSettings:
    curve_cert: str = ""
    """Path of the certificate that all brokers share. Empty: none was given."""
    default_port: int = 8050
    """What %p stands for. 8050 is what the Flux operator uses, so that its network policies fit."""
    default_bind: str = "tcp://*:%p"
    """Endpoint for hosts without `bind`. All interfaces, as pods and plain clusters need."""
    default_connect: str = "tcp://%h:%p"
    """Endpoint for hosts without `connect`: the host's own name."""
    enable_ipv6: bool = False
    """Whether sockets may use IPv6. Off: ZeroMQ then never tries an address that a cluster does not route."""
    hosts: tuple[HostEntry, ...] = ()
    """One entry per host or hostlist; the index after expansion is the rank. Empty: no bootstrap by file."""


@dataclass(frozen=True)
class Settings:
    overlay: OverlaySettings = field(default_factory=OverlaySettings)
    exec: ExecSettings = field(default_factory=ExecSettings)
    resource: ResourceSettings = field(default_factory=ResourceSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    job_manager: JobManagerSettings = field(default_factory=JobManagerSettings)
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    log: LogSettings = field(default_factory=LogSettings)
    bootstrap: BootstrapSettings = field(default_factory=BootstrapSettings)
