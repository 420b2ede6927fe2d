"""With a million jobs waiting: how large is rank 0, how fast does it answer, and how soon is it back?"""

from __future__ import annotations

import time
from collections.abc import Iterator

from calibration import Steady, steadily
from environment import Installation, Instance
from memory import shares
from ours import durable, fill_all_cores
from report import Row
from rows import seconds_row

from fluxlike.jobspec.build import from_command

JOBS, QUICK = 1_000_000, 5_000
MEMORY_MB, LISTING, ACCEPTING_MS, RESTART = 1200.0, 0.2, 50.0, 30.0
SUBMITS = 100
"""Single submits in a piece."""


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    jobs, pieces = (QUICK, 2) if quick else (JOBS, 10)
    with installation.instance(*durable(installation)) as instance:
        fill_all_cores(instance)
        with instance.client() as client:
            client.submit_template(_true(), map(str, range(jobs)))
        yield _memory(instance, jobs)
        listing = steadily(lambda: [_timed(instance, "jobs", "-c", "10")], pieces)
        yield seconds_row(f"jobs -c 10, {jobs:,} waiting", listing, LISTING, small=quick)
        yield accepting_row(steadily(lambda: _submits(instance), pieces), jobs)
        back = steadily(lambda: [_restart(instance)], 1)
        yield seconds_row(f"restart after kill -9 until `jobs` answers, {jobs:,} waiting", back, RESTART, small=quick)


def _restart(instance: Instance) -> float:
    instance.kill()
    began = time.perf_counter()
    instance.start_again()
    instance.run("jobs", "-c", "10")
    return time.perf_counter() - began


def _true() -> dict[str, object]:
    return from_command(["true"], cwd="/", environment={"PATH": "/usr/bin:/bin"})


def _memory(instance: Instance, jobs: int) -> Row:
    found = shares(instance.brokers()[0])
    facts = {"rss_mb": found["Rss"], "small": jobs < JOBS}
    detail = f"PSS; resident {found['Rss']:.0f}"
    return Row(f"memory of rank 0, {jobs:,} waiting", found["Pss"], "MB", MEMORY_MB, detail=detail, facts=facts)


def _timed(instance: Instance, *words: str) -> float:
    began = time.perf_counter()
    instance.run(*words)
    return time.perf_counter() - began


def _submits(instance: Instance) -> list[float]:
    taken, spec = [], _true()
    with instance.client() as client:
        for _ in range(SUBMITS):
            began = time.perf_counter()
            client.submit(spec)
            taken.append(time.perf_counter() - began)
    return taken


def accepting_row(found: Steady, jobs: int) -> Row:
    """The slowest in a hundred, each scaled by the core's speed meanwhile."""
    scaled = sorted(value / piece.slowness * 1e3 for piece in found.pieces for value in piece.values)
    p50, p99 = scaled[len(scaled) // 2], scaled[int(len(scaled) * 0.99)]
    facts = {"p50_ms": p50, "noisy": found.noisy, "busy": found.busy, "small": jobs < JOBS}
    detail = f"p50 {p50:.2f}, most {scaled[-1]:.2f}; core {found.slowness:.2f}x slower"
    return Row(f"submit by the client, p99, {jobs:,} waiting", p99, "ms", ACCEPTING_MS, detail=detail, facts=facts)
