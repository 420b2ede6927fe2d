"""Systems measured in turns, round by round, so that what disturbs the machine disturbs all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack

from calibration import BUSY, CORE
from peers.peer import Peer, Rate, Surroundings, Unavailable

FEWEST = 30
"""Jobs that a system is given at least, however small its share."""


class Turns:
    """Rates by system, one a round; and why a system has none. A system has all rounds or no rate."""

    def __init__(self) -> None:
        self.rates: dict[str, list[float]] = {}
        self.absent: dict[str, str] = {}
        self.loops: list[float] = []
        """Seconds of the calibration loop, between any two turns."""

    @property
    def busy(self) -> bool:
        """Somebody else used the machine: a system that needs all of it loses more than one that needs one core."""
        return bool(self.loops) and statistics.median(self.loops) > BUSY * CORE.fastest

    def give_up(self, name: str, why: Unavailable) -> None:
        self.rates.pop(name, None)
        self.absent[name] = str(why)


def in_turns(systems: Sequence[Peer], where: Surroundings, jobs: int, rounds: int) -> Turns:
    """Each system `rounds` times with `jobs` jobs, or its share of them, after a tenth of that to warm it up.

    All of them stay up from the first round to the last, idle while it is not their turn."""
    found = Turns()
    with ExitStack() as stack:
        running: dict[str, Rate] = {}
        for system in systems:
            try:
                running[system.name] = stack.enter_context(system.start(where))
                running[system.name](count(system, jobs / 10))
                found.rates[system.name] = []
            except Unavailable as why:
                found.give_up(system.name, why)
        for _ in range(rounds):
            for system in systems:
                if system.name not in found.absent:
                    found.loops.append(CORE.look())
                    _turn(found, system, running[system.name], jobs)
    return found


def _turn(found: Turns, system: Peer, rate: Rate, jobs: int) -> None:
    try:
        found.rates[system.name].append(rate(count(system, jobs)))
    except Unavailable as why:
        found.give_up(system.name, why)


def count(system: Peer, jobs: float) -> int:
    """How many jobs its turn has."""
    return max(FEWEST, int(jobs * system.share))
