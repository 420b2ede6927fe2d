"""The order of active jobs as it was when a long listing went to its second page."""

from __future__ import annotations

KEPT = 4
"""Listings that can be read at a time; the oldest makes room. Each is eight bytes a job."""


class Orders:
    """Later pages need not put a million jobs in order again, and do not miss those that moved up meanwhile."""

    def __init__(self) -> None:
        self._orders: dict[int, list[int]] = {}
        self._last = 0

    def keep(self, ids: list[int]) -> int:
        """Gives the number by which `find` knows it."""
        self._last += 1
        self._orders[self._last] = ids
        if len(self._orders) > KEPT:
            del self._orders[next(iter(self._orders))]
        return self._last

    def find(self, number: int) -> list[int] | None:
        return self._orders.get(number)

    def drop(self, number: int) -> None:
        self._orders.pop(number, None)
