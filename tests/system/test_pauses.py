"""Brokers that are silent for so long that others give them up, and then go on: every node serves again."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fluxlike.testing.instance import LOSSY, Instance, Site
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
