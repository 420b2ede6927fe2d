from __future__ import annotations

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.job.layout import layout
from fluxlike.sched.interface import Allocation


def over(slots: tuple[int, ...], ntasks: int) -> list[int]:
    allocation = Allocation(tuple((10 + index, 1, 0) for index in range(len(slots))), slots)
    rows = layout(allocation, ntasks)
    assert [rank for rank, _, _ in rows] == [10 + index for index in range(len(slots))]
    counts = [count for _, _, count in rows]
    assert [first for _, first, _ in rows] == [sum(counts[:index]) for index in range(len(counts))]
    assert sum(counts) == ntasks
    return counts


def test_one_task_per_slot_in_consecutive_ranks() -> None:
    allocation = Allocation(((0, 0b11, 0), (2, 0b1, 0)), (2, 1))
    assert layout(allocation, 3) == [(0, 0, 2), (2, 2, 1)]


@pytest.mark.parametrize(
    ("slots", "ntasks", "counts"),
    [
        ((4,), 4, [4]),
        ((2, 2), 8, [4, 4]),
        ((1, 3), 8, [2, 6]),
        ((2, 2, 2, 2), 5, [2, 1, 1, 1]),
        ((3, 3, 3), 7, [3, 2, 2]),
        ((3, 3, 3), 8, [3, 3, 2]),
        ((1, 5), 4, [1, 3]),
        ((2, 2), 5, [3, 2]),
        ((1, 1, 1), 2, [1, 1, 0]),
        ((1000, 1000), 1999, [1000, 999]),
    ],
)
def test_what_does_not_divide_is_dealt_out_in_turn(slots: tuple[int, ...], ntasks: int, counts: list[int]) -> None:
    assert over(slots, ntasks) == counts


@pytest.mark.parametrize(("slots", "ntasks"), [((), 1), ((1, 0), 1), ((1,), 0)])
def test_there_must_be_tasks_and_slots(slots: tuple[int, ...], ntasks: int) -> None:
    with pytest.raises(InvalidRequest, match="cannot lay out"):
        over(slots, ntasks)
