"""A leaf broker dies: it comes back in time and its jobs go on, or it does not and they fail."""

from __future__ import annotations

import pytest

from fluxlike.testing.instance import LOSSY, Instance, Site
from fluxlike.testing.processes import alive
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

LEAF = 2
GRACIOUS = {**LOSSY, "exec.lost-grace": 20, "exec.orphan-timeout": 30}


def start(site: Site, sets: dict[str, object]) -> Instance:
    return site.start(3, statedir="state", sets=sets)


def on_leaf(flux: Instance, script: str) -> tuple[int, int]:
    """A running job that has all of the leaf, and the process id of its task."""
    pid_file = flux.site.root / "pid"
    others = [rank for rank in range(3) if rank != LEAF]
    flux.ok("resource", "drain", ",".join(map(str, others)))
    job = flux.sh(f"echo $$ > {pid_file}; {script}", cores_per_task=4)
    flux.until(job, "start")
    flux.ok("resource", "undrain", ",".join(map(str, others)))
    assert flux.client.job(job).ranks == str(LEAF)
    return job, int(wait_until(lambda: pid_file.exists() and pid_file.read_text().strip()))


def lost(flux: Instance) -> None:
    wait_until(lambda: flux.health()[LEAF] == "lost", show=flux.health)


def test_jobs_of_a_leaf_that_comes_back_in_time_go_on(site: Site) -> None:
    flux = start(site, GRACIOUS)
    job, task = on_leaf(flux, f"while [ ! -e {site.root}/go ]; do sleep 0.05; done; echo done; exit 3")
    executor = flux.executor(LEAF)
    flux.kill_broker(LEAF)
    lost(flux)
    assert alive(task)
    assert flux.start_rank(LEAF, GRACIOUS).returncode == 0
    flux.settle()
    assert flux.health() == {0: "full", 1: "full", 2: "full"}
    assert flux.executor(LEAF) == executor
    assert alive(task)
    assert flux.client.job(job).state == "run"
    (site.root / "go").touch()
    assert flux.wait(job).returncode == 3
    assert flux.output(job) == b"done\n"


def test_a_job_that_ends_while_its_leaf_is_away_is_reported_on_return(site: Site) -> None:
    flux = start(site, GRACIOUS)
    job, task = on_leaf(flux, f"while [ ! -e {site.root}/go ]; do sleep 0.05; done; echo done; exit 4")
    flux.kill_broker(LEAF)
    (site.root / "go").touch()
    wait_until(lambda: not alive(task))
    assert flux.client.job(job).state == "run"
    assert flux.start_rank(LEAF, GRACIOUS).returncode == 0
    assert flux.wait(job).returncode == 4
    assert flux.output(job) == b"done\n"


def test_a_leaf_that_is_back_before_anybody_missed_it_keeps_its_jobs(site: Site) -> None:
    flux = site.start(3, statedir="state", sets={"exec.orphan-timeout": 30})
    job, task = on_leaf(flux, f"while [ ! -e {site.root}/go ]; do sleep 0.05; done")
    old = flux.kill_broker(LEAF)
    assert flux.start_rank(LEAF).returncode == 0
    wait_until(lambda: flux.health()[LEAF] == "full")
    wait_until(lambda: flux.broker(LEAF) != old)
    flux.settle()
    assert alive(task)
    (site.root / "go").touch()
    assert flux.wait(job).result == "completed"


def test_a_job_cancelled_while_its_leaf_is_away_ends_when_it_is_back(site: Site) -> None:
    flux = start(site, GRACIOUS)
    job, task = on_leaf(flux, "sleep 1000")
    flux.kill_broker(LEAF)
    lost(flux)
    flux.client.cancel(job)
    assert alive(task)
    assert flux.start_rank(LEAF, GRACIOUS).returncode == 0
    assert flux.wait(job).result == "canceled"
    wait_until(lambda: not alive(task))


def test_a_leaf_that_stays_away_fails_its_jobs_alone_and_may_rejoin(site: Site) -> None:
    sets = {**LOSSY, "exec.orphan-timeout": 60}
    flux = start(site, sets)
    job, task = on_leaf(flux, "sleep 1000")
    other = flux.sh(f"while [ ! -e {site.root}/go ]; do sleep 0.05; done", nnodes=2, ntasks=2)
    flux.until(other, "start")
    flux.kill_broker(LEAF)
    lost(flux)
    assert flux.health() == {0: "degraded", 1: "full", 2: "lost"}
    record = flux.wait(job)
    assert (record.result, record.exception_type) == ("failed", "node-failure")
    assert f"rank {LEAF}" in record.exception_note
    assert flux.client.job(other).state == "run"
    shown = flux.ok("overlay", "status")
    assert "degraded" in shown
    assert "lost" in shown
    assert alive(task), "nobody was there to end it"

    whole = flux.sh("hostname", nnodes=3, ntasks=3)
    assert flux.start_rank(LEAF, sets).returncode == 0
    wait_until(lambda: not alive(task), show=lambda: flux.site.logs())
    flux.settle()
    assert flux.health() == {0: "full", 1: "full", 2: "full"}
    (site.root / "go").touch()
    assert flux.wait(other).result == "completed"
    assert flux.wait(whole).result == "completed"
    assert flux.client.job(whole).ranks == "0-2"


def test_a_job_over_all_nodes_fails_once_when_one_is_lost(site: Site) -> None:
    flux = start(site, {**LOSSY, "exec.orphan-timeout": 2})
    job = flux.sh("sleep 1000", nnodes=3, ntasks=3)
    flux.until(job, "start")
    flux.kill_broker(LEAF)
    record = flux.wait(job)
    assert (record.result, record.exception_type) == ("failed", "node-failure")
    events = flux.events(job)
    assert events.count("finish") == 1
    assert events[-1] == "clean"
    again = flux.sh("true", nnodes=2, ntasks=8)
    assert flux.wait(again).result == "completed"


def test_a_lost_leaf_is_given_no_work(site: Site) -> None:
    flux = start(site, {**LOSSY, "exec.orphan-timeout": 2})
    flux.kill_broker(LEAF)
    lost(flux)
    jobs = [flux.sh("true", cores_per_task=4) for _ in range(6)]
    assert {record.ranks for record in flux.client.wait_many(jobs, timeout=20)} <= {"0", "1"}
    waiting = flux.sh("true", nnodes=3, ntasks=3)
    assert flux.client.job(waiting).state == "sched"
    assert flux.cli("ping", "-c", "1", str(LEAF)).returncode == 1
    flux.client.cancel(waiting)
