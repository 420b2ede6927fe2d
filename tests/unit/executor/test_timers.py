from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from fluxlike_executor.killing import LONGEST_WAIT, next_wait
from fluxlike_executor.timers import Timers


@pytest.fixture
def fired() -> list[str]:
    return []


def test_timers_fire_by_deadline_then_by_order_of_making(fired: list[str]) -> None:
    timers = Timers()

    def note(name: str) -> Callable[[], None]:
        return lambda: fired.append(name)

    timers.add(2.0, note("late"))
    timers.add(1.0, note("first"))
    timers.add(1.0, note("second"))
    assert timers.next() == 1.0
    for callback in timers.due(1.0):
        callback()
    assert fired == ["first", "second"]
    assert timers.next() == 2.0


def test_a_cancelled_timer_neither_fires_nor_wakes(fired: list[str]) -> None:
    timers = Timers()
    timer = timers.add(1.0, lambda: fired.append("x"))
    timer.cancel()
    assert timers.next() is None
    assert timers.due(5.0) == []


def test_kill_waits_double_up_to_the_cap_and_never_stand_still() -> None:
    waits = [0.0]
    while waits[-1] < LONGEST_WAIT:
        waits.append(next_wait(waits[-1]))
    assert waits[1] > 0
    assert all(later == min(2 * earlier, LONGEST_WAIT) for earlier, later in itertools.pairwise(waits[1:]))
    assert next_wait(LONGEST_WAIT) == LONGEST_WAIT
