"""The end of an instance, however it comes, leaves nothing behind."""

from __future__ import annotations

import os
import signal

import pytest

from fluxlike.testing.instance import KEPT, Instance, Site
from fluxlike.testing.processes import alive, parent
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system


def busy(flux: Instance) -> None:
    """Running jobs on every node, and waiting ones."""
    job = flux.sh("setsid sleep 1000 & sleep 1000", nnodes=3, ntasks=6)
    flux.until(job, "start")
    for _ in range(20):
        flux.sh("sleep 1000", nnodes=3, ntasks=3, cores_per_task=4)


def nothing_left(site: Site) -> None:
    assert not site.processes()
    assert list(site.tmp.iterdir()) == []


def test_shutdown_returns_when_everything_is_gone(site: Site) -> None:
    flux = site.start(3)
    busy(flux)
    flux.hang_up()
    done = flux.cli("shutdown")
    assert done.returncode == 0, done
    assert not os.path.exists(flux.rundir / "0" / "local")
    wait_until(lambda: not site.processes(), timeout=3, show=site.processes)
    nothing_left(site)
    after = flux.cli("jobs")
    assert after.returncode == 1
    assert "no instance listens" in after.stderr


def test_shutdown_with_a_state_directory_keeps_what_waits(site: Site) -> None:
    flux = site.start(3, statedir="state")
    busy(flux)
    flux.hang_up()
    assert flux.cli("shutdown", "--quiet").returncode == 0
    wait_until(lambda: not site.processes(), timeout=5, show=site.processes)
    logs = {f"broker-{rank}.log" for rank in range(3)}
    assert set(os.listdir(site.root / "state")) - logs <= set(KEPT)
    again = site.start(3, statedir="state")
    states = [record.state for record in again.client.jobs(limit=0)]
    assert sorted(states) == ["inactive", "run", *["sched"] * 19]
    again.client.cancel([record.id for record in again.client.jobs(states=["active"], limit=0)])


def test_shutdown_from_a_leaf_ends_all(site: Site) -> None:
    flux = site.start(3)
    leaf = f"local://{flux.rundir}/2/local"
    assert site.cli("shutdown", "--quiet", uri=leaf).returncode == 0
    wait_until(lambda: not site.processes(), timeout=5, show=site.processes)
    nothing_left(site)


def test_shutdown_of_an_attached_instance_hangs_up_its_program(site: Site) -> None:
    script = f"trap 'echo hung up; exit 4' HUP; echo $FLUXLIKE_URI > {site.root}/uri; while :; do sleep 0.05; done"
    launcher = site.popen("start", *site.options(2), "--", "sh", "-c", script)
    uri = wait_until(lambda: (site.root / "uri").exists() and (site.root / "uri").read_text().strip())
    assert site.cli("shutdown", "--quiet", uri=str(uri)).returncode == 0
    shown, errors = launcher.communicate(timeout=15)
    assert (shown, launcher.returncode) == ("hung up\n", 4), errors
    nothing_left(site)


@pytest.mark.parametrize("statedir", ["", "state"])
def test_sigterm_to_a_detached_launcher_ends_all(site: Site, statedir: str) -> None:
    flux = site.start(3, statedir=statedir)
    busy(flux)
    launcher = parent(flux.broker())
    flux.hang_up()
    os.kill(launcher, signal.SIGTERM)
    wait_until(lambda: not site.processes(), show=site.processes)
    nothing_left(site)


def test_sigterm_to_an_attached_launcher_ends_program_and_instance(site: Site) -> None:
    stay = f"trap 'exit 5' HUP TERM; touch {site.root}/up; while :; do sleep 0.05; done"
    script = f"fluxlike submit -N3 sleep 1000; {stay}"
    launcher = site.popen("start", *site.options(3), "--", "sh", "-c", script)
    wait_until((site.root / "up").exists)
    launcher.send_signal(signal.SIGTERM)
    _, errors = launcher.communicate(timeout=20)
    assert launcher.returncode == 5, errors
    assert "ended with" not in errors, "nothing went wrong"
    nothing_left(site)


def test_sigterm_to_the_broker_of_rank_0_ends_all(site: Site) -> None:
    flux = site.start(3)
    busy(flux)
    os.kill(flux.broker(), signal.SIGTERM)
    wait_until(lambda: not site.processes(), show=site.processes)
    nothing_left(site)


def test_a_leaf_that_is_told_to_go_leaves_cleanly(site: Site) -> None:
    flux = site.start(3)
    leaf, executor = flux.broker(2), flux.executor(2)
    os.kill(leaf, signal.SIGTERM)
    wait_until(lambda: not alive(leaf) and not alive(executor))
    wait_until(lambda: flux.health()[2] == "offline", show=flux.health)
    assert flux.wait(flux.sh("true", nnodes=2, ntasks=2)).result == "completed"
    flux.forget_descriptors()


def test_a_rank_that_is_leaving_does_not_complain_of_the_launchers_impatience(site: Site) -> None:
    """After the end of rank 0 the launcher ends who is left. On a busy machine that is one that is just leaving."""
    flux = site.start(3, statedir="state", sets={"tbon.topo": "kary:1", "log.stderr-level": "info"})
    middle, leaf = flux.broker(1), flux.broker(2)
    log = site.root / "state" / "broker-1.log"
    os.kill(leaf, signal.SIGSTOP)
    command = flux.popen("shutdown", "--quiet")
    wait_until(lambda: "-> shutdown" in log.read_text(), show=log.read_text)
    os.kill(middle, signal.SIGTERM)
    os.kill(leaf, signal.SIGCONT)
    wait_until(lambda: not site.processes() - {command.pid}, show=site.processes)
    assert "asked to stop" not in log.read_text()


def test_two_sigterms_end_a_launcher_whose_jobs_do_not(site: Site) -> None:
    flux = site.start(1, sets={"exec.kill-timeout": 300, "broker.cleanup-timeout": 300})
    job = flux.sh("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    wait_until(lambda: flux.output(job) == b"ready\n")
    launcher = parent(flux.broker())
    flux.hang_up()
    os.kill(launcher, signal.SIGTERM)
    wait_until(lambda: flux.attr("broker.state") == "cleanup")
    flux.hang_up()
    os.kill(launcher, signal.SIGTERM)
    wait_until(lambda: not site.processes(), show=site.processes)
    nothing_left(site)


def test_a_program_that_ends_takes_detached_children_of_its_jobs_along(site: Site) -> None:
    script = "fluxlike submit --wait-event=start sh -c 'setsid sleep 1000 & sleep 1000'"
    done = site.cli("start", *site.options(2), "--", "sh", "-c", script)
    assert done.returncode == 0, done
    assert not site.processes()
    nothing_left(site)
