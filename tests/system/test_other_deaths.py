"""kill -9 of a broker in the middle of the tree, of an executor, of the launcher."""

from __future__ import annotations

import os
import signal

import pytest

from fluxlike.errors import HostUnreachable
from fluxlike.testing.instance import LOSSY, Instance, Site
from fluxlike.testing.processes import alive, descendants, parent
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

MIDDLE, ORPHANS = 1, (3, 4)


def parents(flux: Instance) -> list[str]:
    """Where the orphans hang; a question mark for one that cannot be reached."""
    found = []
    for rank in ORPHANS:
        try:
            found.append(flux.attr("tbon.parent", rank))
        except HostUnreachable:
            found.append("?")
    return found


def lose_middle(flux: Instance) -> None:
    """Until the root has noticed, and has taken the orphans in."""
    assert parents(flux) == ["1", "1"]
    flux.kill_broker(MIDDLE)
    wait_until(lambda: flux.health()[MIDDLE] == "lost", show=flux.health)
    wait_until(lambda: parents(flux) == ["0", "0"], show=lambda: parents(flux))
    wait_until(lambda: all(node["up"] for node in flux.nodes() if node["rank"] != MIDDLE), show=flux.nodes)


def test_children_of_a_lost_middle_broker_attach_to_the_root(site: Site) -> None:
    flux = site.start(7, statedir="state", sets={**LOSSY, "tbon.topo": "kary:2", "exec.orphan-timeout": 30})
    lose_middle(flux)
    assert flux.health() == {0: "degraded", 1: "lost", **dict.fromkeys(range(2, 7), "full")}
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
    lose_middle(flux)
    assert flux.client.job(job).state == "run"
    (site.root / "go").touch()
    assert flux.wait(job).result == "completed"
    assert flux.output(job) == b"done\ndone\n"


def test_shutdown_reaches_the_orphans_of_a_middle_broker_that_was_just_killed(site: Site) -> None:
    flux = site.start(5, statedir="state", sets={**LOSSY, "tbon.topo": "kary:2", "exec.orphan-timeout": 60})
    flux.kill_broker(MIDDLE)
    assert flux.cli("shutdown", "--quiet").returncode == 0
    wait_until(lambda: not site.processes(), show=site.processes)


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
    job = flux.sh(f"touch $FLUX_JOB_TMPDIR/mine; echo $$ > {site.root}/pid; exec setsid -w sleep 1000")
    task = int(wait_until(lambda: (site.root / "pid").exists() and (site.root / "pid").read_text().strip()))
    flux.kill(flux.executor(0))
    assert flux.wait(job).exception_type == "node-failure"
    wait_until(lambda: not alive(task))
    wait_until(lambda: os.listdir(flux.rundir / "0" / "tmp") == [])
    assert flux.wait(flux.sh("true")).result == "completed"


def test_everything_ends_with_a_launcher_that_is_killed(site: Site) -> None:
    jobs = "fluxlike submit sleep 1000; fluxlike submit --wait-event=start sleep 1000"
    launcher = site.popen(
        "start", *site.options(3), "--", "sh", "-c", f"{jobs}; echo $$ > {site.root}/up; exec sleep 1000"
    )
    program = int(wait_until(lambda: (site.root / "up").exists() and (site.root / "up").read_text().strip()))
    below = descendants(launcher.pid)
    assert len(below) >= 3 + 3 + 2
    launcher.kill()
    launcher.wait(10)
    os.kill(program, signal.SIGKILL)  # the user's own program is not ours to end
    wait_until(lambda: not any(map(alive, below)), show=lambda: [pid for pid in below if alive(pid)])
    assert list(site.tmp.iterdir()) == []


def test_a_detached_instance_goes_on_without_its_launcher_and_clears_up_itself(site: Site) -> None:
    flux = site.start(3)
    launcher = parent(flux.broker())
    flux.kill(launcher)
    assert flux.wait(flux.sh("true", nnodes=3, ntasks=3)).result == "completed"
    assert flux.cli("shutdown", "--quiet").returncode == 0
    wait_until(lambda: not site.processes(), show=site.processes)
    assert list(site.tmp.iterdir()) == []


def test_a_detached_throw_away_instance_ends_when_its_root_is_killed(site: Site) -> None:
    flux = site.start(3)
    job = flux.sh("sleep 1000", nnodes=3, ntasks=3)
    flux.until(job, "start")
    flux.kill_broker(0)
    wait_until(lambda: not site.processes(), show=site.processes)
    assert list(site.tmp.iterdir()) == []


def test_a_middle_broker_that_was_only_asleep_does_not_take_its_children_along(site: Site) -> None:
    """It still believes that they hang on it, says so when it is back, and then finds them silent."""
    sets = {**LOSSY, "tbon.topo": "kary:2", "exec.lost-grace": 20, "exec.orphan-timeout": 30}
    flux = site.start(5, statedir="state", sets=sets)
    sleeper = flux.broker(MIDDLE)
    os.kill(sleeper, signal.SIGSTOP)
    try:
        wait_until(lambda: flux.health()[MIDDLE] == "lost", show=flux.health)
        wait_until(lambda: parents(flux) == ["0", "0"], show=lambda: parents(flux))
    finally:
        os.kill(sleeper, signal.SIGCONT)
    log = site.root / "state" / f"broker-{MIDDLE}.log"
    wait_until(lambda: "lost rank 3" in log.read_text(), show=log.read_text)
    wait_until(lambda: set(flux.health().values()) == {"full"}, show=flux.health)
    wait_until(lambda: all(node["up"] and not node["torpid"] for node in flux.nodes()), show=flux.nodes)
    job = flux.sh("true", nnodes=5, ntasks=5)
    assert flux.wait(job).result == "completed"
    assert parents(flux) == ["0", "0"]
    flux.forget_descriptors()


def test_a_command_outside_the_queue_ends_with_its_executor(site: Site) -> None:
    flux = site.start(2)
    command = flux.popen("exec", "-r", "1", "sleep", "60")
    executor = flux.executor(1)
    wait_until(lambda: bool(descendants(executor)))
    tasks = descendants(executor)
    flux.kill(executor)
    _, errors = command.communicate(timeout=10)
    assert command.returncode != 0
    assert "executor was lost" in errors
    wait_until(lambda: not any(alive(task) for task in tasks))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_command_outside_the_queue_does_not_outlive_an_instance_whose_executor_was_killed(
    site: Site, rank: int
) -> None:
    """It is stopped before the next executor is there to end what the last one left."""
    flux = site.start(2)
    flux.popen("exec", "-r", str(rank), "sleep", "1000")
    executor = flux.executor(rank)
    (task,) = wait_until(lambda: descendants(executor))
    broker = flux.broker(rank)
    flux.hang_up()
    flux.kill(executor)
    os.kill(broker, signal.SIGTERM)
    wait_until(lambda: not alive(broker))
    wait_until(lambda: not alive(task), timeout=1.0)
