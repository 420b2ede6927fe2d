"""One heap for everything that must happen at a wall time, and one timer for the next of it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

from fluxlike.clock import Clock


class Alarms:
    """Alarms are not taken back: who rings checks whether it still matters."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Callable[[int], None]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def at(self, when: float, job_id: int, ring: Callable[[int], None]) -> None:
        heapq.heappush(self._heap, (when, job_id, ring))
        if self._timer is None or when < self._due:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._due = self._heap[0][0]
            delay = max(0.0, self._due - self._clock.now())
            # Wall clocks are set and stepped: look again at least once a minute.
            self._timer = asyncio.get_running_loop().call_later(min(delay, 60.0), self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._clock.now()
        try:
            while self._heap and self._heap[0][0] <= now:
                _, job_id, ring = heapq.heappop(self._heap)
                ring(job_id)
        finally:  # one that breaks must not silence the others
            self._arm()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
