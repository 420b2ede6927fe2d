"""fluxlike as one of the systems that are measured in turns, and the instances that rates are about."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from environment import Installation, Instance
from peers.peer import Peer, Rate, Surroundings

CORES = 64
SLOTS = ("-S", f"resource.cores={CORES}")
NULL = ("-S", "exec.mode=null")
"""The executor answers without starting anything."""


def durable(installation: Installation) -> tuple[str, ...]:
    """Options for one broker with 64 cores and a new state directory, every acknowledgement synced to disk."""
    return ("--statedir", installation.statedir(), *SLOTS)


def fluxlike(installation: Installation, name: str, *options: str) -> Peer:
    @contextmanager
    def started(where: Surroundings) -> Iterator[Rate]:
        with installation.instance(*options) as instance:
            yield lambda count: bulk_rate(instance, count)

    return Peer(name, started)


def bulk_rate(instance: Instance, count: int) -> float:
    """Jobs a second from the command's start until it knows the end of all of them; output captured."""
    began = time.perf_counter()
    instance.run("submit", "--quiet", "--wait", f"--cc=1-{count}", "true")
    return count / (time.perf_counter() - began)


def fill_all_cores(instance: Instance) -> None:
    """A job that runs for ever on all cores: whatever comes after it stays in the queue."""
    instance.run("submit", "--quiet", "--wait-event=start", f"-c{CORES}", "sleep", "inf")
