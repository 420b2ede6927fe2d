"""Alarms on a loop whose time is the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from fluxlike.clock import FrozenClock
from fluxlike_broker.modules.job_manager.alarms import Alarms


class SteppedLoop(asyncio.SelectorEventLoop):
    """Its time stands still until told, like the clock's."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()

    def time(self) -> float:
        return self.now

    def turn(self) -> None:
        for _ in range(3):
            self.call_soon(self.stop)
            self.run_forever()


class Stage:
    def __init__(self) -> None:
        self.loop = SteppedLoop()
        self.clock = FrozenClock(1000.0)
        self.alarms = Alarms(self.clock)
        self.rung: list[int] = []

    def at(self, when: float, job_id: int) -> None:
        self.loop.call_soon(self.alarms.at, when, job_id, self.rung.append)
        self.loop.turn()

    def wait(self, seconds: float, *, wall: float | None = None) -> None:
        """Time passes; `wall` is by how much the wall clock moves if someone sets it meanwhile."""
        self.loop.now += seconds
        self.clock.at += seconds if wall is None else wall
        self.loop.turn()


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.alarms.close()
    made.loop.close()


def test_alarm_rings_at_its_time_and_once(stage: Stage) -> None:
    stage.at(1010.0, 1)
    stage.wait(9.0)
    assert stage.rung == []
    stage.wait(1.0)
    stage.wait(100.0)
    assert stage.rung == [1]


def test_alarms_ring_in_order_of_time(stage: Stage) -> None:
    stage.at(1030.0, 3)
    stage.at(1010.0, 1)
    stage.at(1020.0, 2)
    stage.wait(10.0)
    assert stage.rung == [1]
    stage.wait(50.0)
    assert stage.rung == [1, 2, 3]


def test_alarm_of_the_past_rings_at_once(stage: Stage) -> None:
    stage.at(5.0, 1)
    assert stage.rung == [1]


def test_one_job_may_set_the_same_alarm_twice(stage: Stage) -> None:
    stage.at(1010.0, 1)
    stage.at(1010.0, 1)
    stage.wait(10.0)
    assert stage.rung == [1, 1]


def test_clock_set_forward_is_noticed_within_a_minute(stage: Stage) -> None:
    stage.at(1000.0 + 3600.0, 1)
    stage.wait(60.0, wall=3600.0)
    assert stage.rung == [1]


def test_clock_set_back_delays_the_alarm(stage: Stage) -> None:
    stage.at(1010.0, 1)
    stage.wait(10.0, wall=-500.0)
    assert stage.rung == []
    stage.wait(60.0, wall=510.0)
    assert stage.rung == [1]


def test_alarm_that_breaks_does_not_silence_the_others(stage: Stage) -> None:
    def broken(job_id: int) -> None:
        raise KeyError("a mistake of ours")

    stage.loop.set_exception_handler(lambda loop, context: stage.rung.append(-1))
    stage.loop.call_soon(stage.alarms.at, 1010.0, 1, broken)
    stage.at(1010.0, 2)
    stage.at(1020.0, 3)
    stage.wait(10.0)
    stage.wait(10.0)
    assert stage.rung == [-1, 2, 3]


def test_closed_alarms_are_silent(stage: Stage) -> None:
    stage.at(1010.0, 1)
    stage.alarms.close()
    stage.wait(100.0)
    assert stage.rung == []
