"""Which task runs on which node: consecutive task ranks on each node, as many as its slots deserve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fluxlike.errors import InvalidRequest


class Placed(Protocol):
    """What of an allocation matters here."""

    @property
    def nodes(self) -> Sequence[tuple[int, int, int]]: ...

    @property
    def slots_per_node(self) -> Sequence[int]: ...


def layout(allocation: Placed, ntasks: int) -> list[tuple[int, int, int]]:
    """(rank, first task, number of tasks) for each node of the allocation, in its order.

    Every slot gets the same number of tasks if that is possible. What remains goes one task to a node in
    turn, so that no node stays empty while another has two."""
    slots = allocation.slots_per_node
    if ntasks < 1 or not slots or min(slots) < 1:
        raise InvalidRequest(f"cannot lay out {ntasks} tasks over slots {list(slots)}")
    rows: list[tuple[int, int, int]] = []
    first = 0
    for (rank, _, _), count in zip(allocation.nodes, _counts(slots, ntasks), strict=True):
        rows.append((rank, first, count))
        first += count
    return rows


def _counts(slots: Sequence[int], ntasks: int) -> list[int]:
    each, rest = divmod(ntasks, sum(slots))
    counts = [each * number for number in slots]
    room = list(slots)
    while rest:
        open_nodes = [index for index, number in enumerate(room) if number]
        # Whole rounds at once: as many as the fullest node and what is left allow.
        rounds = min(rest // len(open_nodes), min(room[index] for index in open_nodes)) or 1
        for index in open_nodes[:rest]:
            counts[index] += rounds
            room[index] -= rounds
            rest -= rounds
    return counts
