"""How much longer does one `true` take when a hundred thousand jobs are waiting for all cores?"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from environment import Installation, Instance
from job_latency import lives
from ours import CORES, durable
from report import Row

from fluxlike.jobspec.build import from_command

JOBS, QUICK = 100_000, 2_000
LIVES, LIMIT = 50, 2.0
LOWER = 8
"""The urgency of those that wait; what is measured has 16."""


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    jobs, rounds = (QUICK, 2) if quick else (JOBS, 5)
    with installation.instance(*durable(installation)) as idle, installation.instance(*durable(installation)) as full:
        crowd(full, jobs)
        pairs = [(_p50(idle), _p50(full)) for _ in range(rounds)]
    yield crowd_row(pairs, jobs)


def crowd(instance: Instance, jobs: int) -> None:
    """One core is held for ever, so that none of these can run; 63 are free."""
    instance.run("submit", "--quiet", "--wait-event=start", "sleep", "inf")
    whole = from_command(["true"], cores_per_task=CORES, cwd="/", environment={"PATH": "/usr/bin:/bin"})
    with instance.client() as client:
        client.submit_template(whole, map(str, range(jobs)), urgency=LOWER)


def _p50(instance: Instance) -> float:
    return statistics.median(lives(instance, LIVES)) * 1e3


def crowd_row(pairs: list[tuple[float, float]], jobs: int) -> Row:
    """`pairs` of milliseconds, idle and full, a round each."""
    idle, full = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(
        f"one job by the client while {jobs:,} wait for {CORES} cores, in units of an idle instance",
        statistics.median(second / first for first, second in pairs),
        "x",
        LIMIT,
        detail=f"p50 of {LIVES}: {full:.2f} / {idle:.2f} ms, {len(pairs)} rounds in turns",
        facts={"pairs_ms": pairs, "small": jobs < JOBS},
    )
