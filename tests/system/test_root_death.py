"""kill -9 of rank 0 under a state directory: a start at the same place goes on where it stopped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fluxlike.ids import encode_f58
from fluxlike.protocol.jobs import QueueState, QueueStatus
from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.processes import alive
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

PLACE = "state"
PATIENT = {"exec.lost-grace": 20, "exec.orphan-timeout": 60}
"""Tasks and jobs outlive a root that is away for a while."""

RECORD = "echo $FLUX_JOB_ID $$ >> {ran}"


def start(site: Site, size: int = 2) -> Instance:
    return site.start(size, statedir=PLACE, sets=PATIENT)


def ran(path: Path) -> dict[str, list[str]]:
    """Job id -> process ids of its runs, as the jobs wrote them."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        job, pid = line.split()
        found.setdefault(job, []).append(pid)
    return found


def go(site: Site, name: str = "go") -> None:
    (site.root / name).touch()


def waits_for(site: Site, name: str = "go") -> str:
    return f"while [ ! -e {site.root / name} ]; do sleep 0.05; done"


def test_every_acknowledged_job_ends_exactly_once(site: Site) -> None:
    flux = start(site)
    path = site.root / "ran"
    record = RECORD.format(ran=path)
    done = [flux.sh(record) for _ in range(10)]
    for _ in flux.client.wait_many(done, timeout=20):
        pass
    script = f"{record}; {waits_for(site)}; echo end of $FLUX_JOB_ID"
    running = [flux.sh(script, ntasks=1, cores_per_task=2) for _ in range(4)]
    for job in running:
        flux.until(job, "start")
    wait_until(lambda: len(ran(path)) == 14, show=lambda: ran(path))
    pending = [flux.sh(f"{record}; echo end of $FLUX_JOB_ID") for _ in range(50)]
    uri, executors = flux.uri, [flux.executor(rank) for rank in range(2)]
    before = {record.id: record.record for record in flux.client.jobs(ids=done)}

    flux.kill_broker(0)
    tasks = [int(pid) for job in running for pid in ran(path)[encode_f58(job)]]
    assert all(map(alive, tasks))
    flux = start(site)

    assert flux.uri == uri
    assert [flux.executor(rank) for rank in range(2)] == executors
    assert {record.id: record.record for record in flux.client.jobs(ids=done)} == before
    assert all(map(alive, tasks))
    assert {record.state for record in flux.client.jobs(ids=running)} == {"run"}
    go(site)
    ends = {record.id: record for record in flux.client.wait_many(running + pending, timeout=60)}
    assert {record.result for record in ends.values()} == {"completed"}
    for job in running + pending:
        assert flux.output(job).decode() == f"end of {encode_f58(job)}\n"
    assert {job: len(pids) for job, pids in ran(path).items()} == {
        encode_f58(job): 1 for job in done + running + pending
    }
    assert len(flux.client.jobs(limit=0)) == len(done + running + pending)


def test_jobs_acknowledged_right_before_the_kill_are_not_lost(site: Site) -> None:
    flux = start(site)
    path = site.root / "ran"
    jobs = [job for _ in range(5) for job in [flux.sh(RECORD.format(ran=path))]]
    jobs += flux.client.submit_template(
        flux.client.info(jobs[0], "jobspec")["jobspec"], [str(number) for number in range(300)]
    )
    flux.kill_broker(0)
    flux = start(site)
    ends = list(flux.client.wait_many(jobs, timeout=60))
    assert {record.result for record in ends} == {"completed"}
    assert {job: len(pids) for job, pids in ran(path).items()} == {encode_f58(job): 1 for job in jobs}


def test_output_and_end_of_a_job_that_finished_while_the_root_was_away_are_complete(site: Site) -> None:
    flux = start(site)
    job = flux.sh(f"seq 1 20000; {waits_for(site)}; seq 20001 40000; exit 9", nnodes=2, ntasks=2)
    flux.until(job, "start")
    wait_until(lambda: flux.output(job).count(b"\n20000\n") == 2)
    executors = [flux.executor(rank) for rank in range(2)]
    flux.kill_broker(0)
    go(site)
    wait_until(lambda: not any(_tasks(pid) for pid in executors))
    flux = start(site)
    assert flux.wait(job).returncode == 9
    assert len(flux.output(job)) == 2 * len("".join(f"{number}\n" for number in range(1, 40001)))
    chunks: dict[int, bytes] = {}
    for chunk in flux.client.output(job, follow=False):
        chunks[chunk.task] = chunks.get(chunk.task, b"") + chunk.data
    expected = "".join(f"{number}\n" for number in range(1, 40001)).encode()
    assert chunks == {0: expected, 1: expected}


def _tasks(pid: int) -> list[str]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()


def test_drain_and_queue_stop_survive(site: Site) -> None:
    flux = start(site)
    flux.ok("resource", "drain", "1", "bad", "memory")
    flux.ok("queue", "stop", "-m", "cooling works")
    job = flux.sh("true")
    flux.kill_broker(0)
    flux = start(site)
    assert [(node["drained"], node["reason"]) for node in flux.nodes()] == [(False, ""), (True, "bad memory")]
    state = flux.client.call(QueueStatus(), QueueState)
    assert (state.started, state.reason, state.pending) == (False, "cooling works", 1)
    assert "cooling works" in flux.client.job(job).reason
    flux.ok("queue", "start")
    assert flux.wait(job).result == "completed"
    assert flux.client.job(job).ranks == "0"


def test_waiting_held_and_dependent_jobs_survive(site: Site) -> None:
    flux = start(site)
    held = flux.sh("true", urgency=0)
    blocked = flux.submit("true", dependencies=[{"scheme": "afterok", "value": encode_f58(held)}])
    limited = flux.sh("sleep 100", duration=3.0)
    flux.until(limited, "start")
    cancelled = flux.sh("true", urgency=0)
    flux.client.cancel(cancelled)
    flux.kill_broker(0)
    flux = start(site)
    assert [record.state for record in flux.client.jobs(ids=[held, blocked, cancelled])] == [
        "sched",
        "depend",
        "inactive",
    ]
    flux.client.urgency(held, 16)
    assert flux.wait(blocked).result == "completed"
    assert flux.wait(limited).result == "timeout"


def test_a_root_that_is_killed_again_and_again_loses_nothing(site: Site) -> None:
    flux = start(site)
    path = site.root / "ran"
    jobs: list[int] = []
    for _ in range(3):
        jobs += [flux.sh(RECORD.format(ran=path)) for _ in range(20)]
        flux.kill_broker(0)
        flux = start(site)
    assert {record.result for record in flux.client.wait_many(jobs, timeout=60)} == {"completed"}
    assert {job: len(pids) for job, pids in ran(path).items()} == {encode_f58(job): 1 for job in jobs}
    assert os.listdir(flux.rundir / "0" / "tmp") == []


def test_rank_that_was_through_before_is_neither_missed_nor_run_again(site: Site) -> None:
    flux = start(site)
    path = site.root / "ran"
    record = f"echo $FLUX_TASK_RANK $$ >> {path}"
    job = flux.sh(f"{record}; [ $FLUX_TASK_RANK = 0 ] && exit 3; {waits_for(site)}", nnodes=2, ntasks=2)
    flux.until(job, "memo")
    flux.kill_broker(0)
    flux = start(site)
    go(site)
    found = flux.wait(job)
    assert (found.result, found.returncode, found.record["exception_type"]) == ("failed", 3, "")
    assert {task: len(pids) for task, pids in ran(path).items()} == {"0": 1, "1": 1}
