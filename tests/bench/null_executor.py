"""How many jobs a second if starting processes cost nothing?"""

from __future__ import annotations

from collections.abc import Iterator

from calibration import steadily
from environment import Installation
from ours import NULL, bulk_rate, durable
from report import Row
from rows import rate_row

JOBS, LEAST = 10_000, 10_000.0


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    jobs, pieces = (1000, 2) if quick else (JOBS, 5)
    with installation.instance(*durable(installation), *NULL) as instance:
        bulk_rate(instance, jobs // 10)
        found = steadily(lambda: [1 / bulk_rate(instance, jobs)], pieces)
    what = f"{jobs} jobs, null executor"
    yield rate_row(what, found, LEAST, system="fluxlike, null executor", small=jobs < JOBS)
