"""The k-ary tree that ranks are born into. Where a rank really hangs is learned (subtree.py), not computed."""

from __future__ import annotations


def parent_of(rank: int, fanout: int) -> int | None:
    """None for the root. A fan-out of 0 is the flat tree."""
    if rank == 0:
        return None
    return 0 if fanout == 0 else (rank - 1) // fanout


def ancestors_of(rank: int, fanout: int) -> list[int]:
    """Parent first, root last: the order in which a rank tries to attach."""
    line: list[int] = []
    parent = parent_of(rank, fanout)
    while parent is not None:
        line.append(parent)
        parent = parent_of(parent, fanout)
    return line


def children_of(rank: int, fanout: int, size: int) -> range:
    if fanout == 0:
        return range(1, size) if rank == 0 else range(0)
    first = rank * fanout + 1
    return range(min(first, size), min(first + fanout, size))


def level_of(rank: int, fanout: int) -> int:
    return len(ancestors_of(rank, fanout))
