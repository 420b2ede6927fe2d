"""How long does an instance take to come, run a program and go, compared with Python doing nothing?"""

from __future__ import annotations

from collections.abc import Iterator

from environment import Installation
from ratio import compare
from report import Row
from rows import ratio_row

BUDGETS = {1: 30.0, 4: 35.0, 32: 80.0}
"""Brokers -> times `python -c pass`."""


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    for size, limit in BUDGETS.items():
        options = () if size == 1 else ("-s", str(size))
        name = " ".join(["fluxlike start", *options, "-- true"])
        command = installation.program("start", *options, "--", "true")
        found = compare({name: command}, installation.idle, installation.env, rounds=5 if quick else 25)
        yield ratio_row(name, found[name], limit)
