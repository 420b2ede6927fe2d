"""How fast is this core now? A fixed loop beside every absolute number makes a budget mean the same anywhere."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

TURNS = 270_000
REFERENCE = 0.0406
"""Seconds that the loop takes on the reference core, defined as one on which `python -c pass` of a virtual
environment takes 9 ms. No such core was at hand: this is computed, 51.57 * 9 / 11.44, from the minima of 200
rounds of the loop (51.57 ms) and of `pass` (11.44 ms) in turns on a 2-core AMD EPYC guest, Python 3.11.7, that
other work kept 68 % busy. A second run gave 53.83 and 11.71, so 41.4 ms: the anchor is good to a few percent.

Under load the loop slows down more than `pass` does (medians 1.6 and 1.4 times the minima there), so numbers
scaled on a busy core flatter us by up to a sixth. Believe those whose core is least slow."""

BUSY = 1.25
"""Times the fastest loop of this run: a slower core has a neighbour, and scaling by it is guesswork."""

DRIFT = 0.10
"""A piece whose loops before and after differ by more is measured again: somebody else was using the core."""

PIECES = 10
"""Pieces of a row, each between two loops of its own: a shared core changes its speed within a second."""

ATTEMPTS = 4
"""Times as many pieces are tried at most before a row is called noisy."""


def loop(clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds for the fixed work: integers, strings, a dict, calls into C; nothing that needs the kernel.

    Processor time is scaled by the loop's processor time, `clock=time.process_time`: both leave out the neighbours."""
    began = clock()
    lengths: dict[str, int] = {}
    for turn in range(TURNS):
        key = str(turn % 997)
        lengths[key] = lengths.get(key, 0) + len(key)
        if turn % 7 == 0:
            sorted((turn % 13, turn % 11, turn % 5))
    return clock() - began


class Core:
    """Remembers how fast this core can be."""

    def __init__(self) -> None:
        self.fastest = math.inf

    def look(self, clock: Callable[[], float] = time.perf_counter) -> float:
        taken = loop(clock)
        self.fastest = min(self.fastest, taken)
        return taken


CORE = Core()


class Piece:
    """Seconds of some repetitions, and of the loop before and after them."""

    def __init__(self, values: list[float], before: float, after: float) -> None:
        self.values = values
        self.before = before
        self.after = after

    @property
    def slowness(self) -> float:
        """How many times slower than the reference core this one was meanwhile."""
        return (self.before + self.after) / 2 / REFERENCE

    @property
    def steady(self) -> bool:
        return abs(self.after - self.before) <= DRIFT * min(self.before, self.after)

    @property
    def quiet(self) -> bool:
        return self.steady and max(self.before, self.after) <= BUSY * CORE.fastest


class Steady:
    """The pieces that count: the quiet ones if there are enough, else the steady ones, else all."""

    def __init__(self, tried: list[Piece], wanted: int) -> None:
        steady = [piece for piece in tried if piece.steady]
        quiet = [piece for piece in steady if piece.quiet]
        self.tried = len(tried)
        self.noisy = len(steady) < wanted
        """The core's speed kept changing."""
        self.busy = len(quiet) < wanted
        """The core was shared: what is scaled by it flatters us."""
        self.pieces = quiet if not self.busy else steady if not self.noisy else tried

    @property
    def values(self) -> list[float]:
        return [value for piece in self.pieces for value in piece.values]

    @property
    def slowness(self) -> float:
        return statistics.median(piece.slowness for piece in self.pieces)

    def scaled(self, waits: float = 0.0) -> float:
        """Median repetition on the reference core; `waits` seconds of it are the same on any core."""
        return statistics.median(
            max(0.0, statistics.median(piece.values) - waits) / piece.slowness + waits for piece in self.pieces
        )


def steadily(measure: Callable[[], list[float]], wanted: int = PIECES) -> Steady:
    """Measure until enough pieces had the core to themselves, or tries run out; the result tells which."""
    tried: list[Piece] = []
    before = CORE.look()
    while len(tried) < wanted * ATTEMPTS and sum(piece.quiet for piece in tried) < wanted:
        values = measure()
        after = CORE.look()
        tried.append(Piece(values, before, after))
        before = after
    return Steady(tried, wanted)
