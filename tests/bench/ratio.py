"""A command's time in units of another's: both in every round, turn by turn, so that load hits both alike."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence

Command = Sequence[str]


class Series:
    """Wall and processor time of one command's runs, in seconds."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def add(self, wall: float, cpu: float) -> None:
        self.wall.append(wall)
        self.cpu.append(cpu)


class Ratio:
    def __init__(self, candidate: Series, baseline: Series) -> None:
        self.candidate = candidate
        self.baseline = baseline

    @property
    def median(self) -> float:
        """Of the rounds' own ratios: what slows a whole round cancels out."""
        pairs = zip(self.candidate.wall, self.baseline.wall, strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    @property
    def least(self) -> float:
        return min(self.candidate.wall) / min(self.baseline.wall)

    @property
    def cpu(self) -> float:
        """Processor time to processor time: says whether a bad round was ours or a neighbour's."""
        return statistics.median(self.candidate.cpu) / statistics.median(self.baseline.cpu)


def timed(command: Command, env: dict[str, str]) -> tuple[float, float]:
    """(wall, processor) seconds until the command and all that it waited for have ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(
    candidates: dict[str, Command],
    baseline: Command,
    env: dict[str, str],
    rounds: int,
    between: Callable[[], object] = lambda: None,
) -> dict[str, Ratio]:
    """Each candidate beside the baseline, `rounds` times after one to warm the caches.

    `between` runs after each candidate, untimed."""
    found = {name: Ratio(Series(), Series()) for name in candidates}
    for number in range(rounds + 1):
        for name, command in candidates.items():
            theirs, ours = timed(baseline, env), timed(command, env)
            between()
            if number:
                found[name].baseline.add(*theirs)
                found[name].candidate.add(*ours)
    return found
