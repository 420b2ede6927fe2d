"""kill -9 of a broker in the middle of the tree, of an executor, of the launcher."""

from __future__ import annotations

import os
import signal

import pytest

from fluxlike.testing.instance import LOSSY, Site
from fluxlike.testing.processes import alive, descendants, parent
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

MIDDLE, ORPHANS = 1, (3, 4)


def test_children_of_a_lost_middle_broker_attach_to_the_root(site: Site) -> None:
    flux = site.start(7, statedir="state", sets={**LOSSY, "tbon.topo": "kary:2", "exec.orphan-timeout": 30})
    assert flux.attr("tbon.parent", 3) == "1"
    running = flux.sh(f"while [ ! -e {site.root}/go ]; do sleep 0.05; done", nnodes=7, ntasks=7)
    flux.until(running, "start")
    flux.client.cancel(running)
    assert flux.wait(running).result == "canceled"
    flux.kill_broker(MIDDLE)
    wait_until(
        lambda: (
            {rank: health for rank, health in flux.health().items() if rank not in (0, MIDDLE)}
            == dict.fromkeys((2, 3, 4, 5, 6), "full")
        ),
        show=flux.health,
    )
    wait_until(lambda: flux.health()[MIDDLE] == "lost", show=flux.health)
    assert [flux.attr("tbon.parent", rank) for rank in ORPHANS] == ["0", "0"]
    job = flux.sh("hostname", nnodes=6, ntasks=6)
    assert flux.wait(job).result == "completed"
    assert flux.client.job(job).ranks == "0,2-6"

    assert flux.start_rank(MIDDLE, {**LOSSY, "tbon.topo": "kary:2"}).returncode == 0
    wait_until(lambda: set(flux.health().values()) == {"full"}, show=flux.health)
    job = flux.sh("hostname", nnodes=7, ntasks=7)
    assert flux.wait(job).result == "completed"


def test_jobs_below_a_lost_middle_broker_go_on(site: Site) -> None:
    sets = {**LOSSY, "tbon.topo": "kary:2", "exec.lost-grace": 20, "exec.orphan-timeout": 30}
    flux = site.start(5, statedir="state", sets=sets)
    flux.ok("resource", "drain", "0-2")
    job = flux.sh(f"while [ ! -e {site.root}/go ]; do sleep 0.05; done; echo done", nnodes=2, ntasks=2)
    flux.until(job, "start")
    assert flux.client.job(job).ranks == "3-4"
    flux.kill_broker(MIDDLE)
    wait_until(lambda: [flux.health()[rank] for rank in ORPHANS] == ["full", "full"], show=flux.health)
    wait_until(lambda: [flux.attr("tbon.parent", rank) for rank in ORPHANS] == ["0", "0"])
    (site.root / "go").touch()
    assert flux.wait(job).result == "completed"
    assert flux.output(job) == b"done\ndone\n"


def test_jobs_of_a_killed_executor_fail_and_a_new_one_takes_jobs(site: Site) -> None:
    flux = site.start(2)
    jobs = [flux.sh("sleep 1000", cores_per_task=4) for _ in range(2)]
    for job in jobs:
        flux.until(job, "start")
    victim, other = sorted(jobs, key=lambda job: flux.client.job(job).ranks == "0")
    old = flux.executor(1)
    flux.kill(old)
    record = flux.wait(victim)
    assert (record.result, record.exception_type) == ("failed", "node-failure")
    assert flux.client.job(other).state == "run"
    flux.client.cancel(other)
    job = flux.sh("hostname", nnodes=2, ntasks=2)
    assert flux.wait(job).result == "completed"
    assert flux.executor(1) != old


def test_a_killed_executor_leaves_no_task_behind_once_the_new_one_is_there(site: Site) -> None:
    flux = site.start(1)
    job = flux.sh(f"echo $$ > {site.root}/pid; exec sleep 1000")
    task = int(wait_until(lambda: (site.root / "pid").exists() and (site.root / "pid").read_text().strip()))
    flux.kill(flux.executor(0))
    assert flux.wait(job).exception_type == "node-failure"
    wait_until(lambda: not alive(task))
    assert flux.wait(flux.sh("true")).result == "completed"


def test_everything_ends_with_a_launcher_that_is_killed(site: Site) -> None:
    script = (
        f"fluxlike submit sleep 1000; fluxlike submit --wait-event=start sleep 1000; touch {site.root}/up; sleep 1000"
    )
    launcher = site.popen("start", *site.options(3), "--", "sh", "-c", script)
    wait_until((site.root / "up").exists)
    below = descendants(launcher.pid)
    assert len(below) >= 3 + 3 + 2
    program = [pid for pid in below if parent(pid) == launcher.pid and b"touch" in _command(pid)]
    launcher.kill()
    launcher.wait(10)
    for pid in program:  # the user's own program is not ours to end
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    wait_until(lambda: not any(map(alive, below)), show=lambda: [pid for pid in below if alive(pid)])
    wait_until(lambda: list(site.tmp.iterdir()) == [], show=lambda: list(site.tmp.iterdir()))


def _command(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def test_a_detached_throw_away_instance_ends_when_its_root_is_killed(site: Site) -> None:
    flux = site.start(3)
    job = flux.sh("sleep 1000", nnodes=3, ntasks=3)
    flux.until(job, "start")
    flux.kill_broker(0)
    wait_until(lambda: not site.processes(), show=site.processes)
    assert list(site.tmp.iterdir()) == []
