"""How long from submitting one `true` with the Python client until it is known to have ended?"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator

from calibration import steadily
from environment import Installation, Instance
from report import Row
from rows import latency_row

from fluxlike.jobspec.build import from_command

LIMIT_MS = 3.0
SYNCS = 3
"""Commits that one job's life takes one after the other: accepted, allocated, ended."""


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    rounds = 20 if quick else 50
    with installation.instance() as instance:
        found = steadily(lambda: lives(instance, rounds))
        yield latency_row("one job by the client, throw-away store", found, LIMIT_MS)
    statedir = installation.statedir()
    with installation.instance("--statedir", statedir) as instance:
        syncs: list[float] = []

        def synced_lives() -> list[float]:
            syncs.append(sync_time(statedir))
            return lives(instance, rounds)

        found = steadily(synced_lives)
        waits = SYNCS * statistics.median(syncs) * 1e3
        yield latency_row("one job by the client, state directory", found, LIMIT_MS, waits)


def lives(instance: Instance, rounds: int) -> list[float]:
    """Seconds of each of `rounds` jobs, one at a time, after a few to warm up."""
    spec = from_command(["true"], cwd="/", environment={"PATH": instance.env["PATH"]})
    taken = []
    with instance.client() as client:
        for number in range(-3, rounds):
            began = time.perf_counter()
            ended = client.wait(client.submit(spec))
            if number >= 0:
                taken.append(time.perf_counter() - began)
            assert ended.succeeded, ended
    return taken


def sync_time(directory: str, rounds: int = 100) -> float:
    """Median seconds of fdatasync after 4 KiB were appended to a file here."""
    block = bytes(4096)
    taken = []
    fd, path = tempfile.mkstemp(dir=directory)
    try:
        for _ in range(rounds):
            os.write(fd, block)
            began = time.perf_counter()
            os.fdatasync(fd)
            taken.append(time.perf_counter() - began)
    finally:
        os.close(fd)
        os.unlink(path)
    return statistics.median(taken)
