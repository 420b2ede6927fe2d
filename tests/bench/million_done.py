"""Does a job cost rank 0 the same processor time after a million jobs as after a thousand?"""

from __future__ import annotations

from collections.abc import Iterator

import flat_cost
from environment import Installation
from report import Row

POINTS = (*flat_cost.POINTS, 1_000_000)
QUICK = (1_000, 5_000)


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    yield flat_cost.flatness(installation, QUICK if quick else POINTS, small=quick)
