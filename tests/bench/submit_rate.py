"""How many jobs a second are accepted and durable, while none of them can run?"""

from __future__ import annotations

import time
from collections.abc import Iterator

from calibration import steadily
from environment import Installation
from ours import durable, fill_all_cores
from report import Row
from rows import rate_row

JOBS, LEAST = 100_000, 30_000.0


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    jobs, pieces = (2000, 2) if quick else (JOBS, 3)
    found = steadily(lambda: [_accepted(installation, jobs)], pieces)
    yield rate_row(f"submit --cc=1-{jobs}, accepted and durable", found, LEAST, small=jobs < JOBS)


def _accepted(installation: Installation, jobs: int) -> float:
    """Seconds per job, of a command in an instance of its own: the queue is as empty in each repetition."""
    with installation.instance(*durable(installation)) as instance:
        fill_all_cores(instance)
        began = time.perf_counter()
        instance.run("submit", "--quiet", f"--cc=1-{jobs}", "true")
        return (time.perf_counter() - began) / jobs
