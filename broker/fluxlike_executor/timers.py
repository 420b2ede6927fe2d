"""All deadlines of the executor in one heap. Pure: the time is handed in."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush


class Timer:
    __slots__ = ("at", "callback", "order")

    def __init__(self, at: float, order: int, callback: Callable[[], None]) -> None:
        self.at = at
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Harmless when it has already fired."""
        self.callback = None

    def __lt__(self, other: Timer) -> bool:
        return (self.at, self.order) < (other.at, other.order)


class Timers:
    """Fires in order of deadline, then of making. A cancelled timer costs no wake-up."""

    __slots__ = ("_heap", "_order")

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._order = 0

    def add(self, at: float, callback: Callable[[], None]) -> Timer:
        self._order += 1
        timer = Timer(at, self._order, callback)
        heappush(self._heap, timer)
        return timer

    def next(self) -> float | None:
        """The earliest deadline that still counts."""
        heap = self._heap
        while heap and heap[0].callback is None:
            heappop(heap)
        return heap[0].at if heap else None

    def due(self, now: float) -> list[Callable[[], None]]:
        """Takes out what has fallen due."""
        heap = self._heap
        fired: list[Callable[[], None]] = []
        while heap and heap[0].at <= now:
            timer = heappop(heap)
            if timer.callback is not None:
                fired.append(timer.callback)
                timer.callback = None
        return fired
