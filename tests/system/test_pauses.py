"""Brokers that are silent for so long that others give them up, and then go on: every node serves again."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fluxlike.testing.instance import LOSSY, Instance, Site
from fluxlike.testing.processes import alive
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

SETS = {**LOSSY, "exec.lost-grace": 20, "exec.orphan-timeout": 60, "tbon.topo": "kary:2"}


def pause(flux: Instance, pid: int, seconds: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.5)  # what it missed may cost it its place only now


def all_serve(flux: Instance) -> bool:
    return all(node["up"] for node in flux.nodes()) and set(flux.health().values()) == {"full"}


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_all_nodes_serve_again_after_a_pause_about_as_long_as_the_limit(site: Site, rank: int) -> None:
    """Who gives up whom first differs from one time to the next; none of the ways may leave a node out."""
    flux = site.start(5, statedir="state", sets=SETS)
    pid = flux.broker(rank)
    flux.forget_descriptors()
    job = flux.sh("sleep 4", nnodes=5, ntasks=5)
    flux.until(job, "start")
    for seconds in (1.65, 1.75, 1.85, 2.0):
        pause(flux, pid, seconds)
        wait_until(lambda: all_serve(flux), 10, flux.nodes)
    assert flux.wait(job).result == "completed"
    assert flux.wait(flux.sh("true", nnodes=5, ntasks=5)).result == "completed"


def test_tree_keeps_its_shape_while_rank_0_is_silent(site: Site) -> None:
    """Only its own children notice; who hangs on those does not turn from them to rank 0."""
    flux = site.start(4, statedir="state", sets={**SETS, "tbon.topo": "kary:1"})
    root = flux.broker(0)
    flux.forget_descriptors()
    logs = [site.root / "state" / f"broker-{rank}.log" for rank in range(4)]
    pause(flux, root, 3.5)
    assert "lost parent rank 0" in logs[1].read_text()
    wait_until(lambda: "attached to rank 0 again" in logs[1].read_text(), show=logs[1].read_text)
    wait_until(lambda: all_serve(flux), 10, flux.nodes)
    assert [flux.attr("tbon.parent", rank) for rank in (1, 2, 3)] == ["0", "1", "2"]
    assert "lost parent" not in logs[2].read_text() + logs[3].read_text()
    assert flux.wait(flux.sh("true", nnodes=4, ntasks=4)).result == "completed"


def test_ranks_give_up_together_when_rank_0_is_gone(site: Site) -> None:
    """Not each one its own time after the one above it."""
    sets = {**SETS, "tbon.topo": "kary:1", "exec.orphan-timeout": 4}
    flux = site.start(4, statedir="state", sets=sets)
    brokers = [flux.broker(rank) for rank in range(4)]
    flux.kill_broker(0)
    started = time.monotonic()
    wait_until(lambda: not any(map(alive, brokers)), show=lambda: [pid for pid in brokers if alive(pid)])
    assert time.monotonic() - started < 2 * 4
    site.start(4, statedir="state", sets=sets)
