from __future__ import annotations

from typing import Any

import pytest

from fluxlike_executor.instance import Instance
from fluxlike_executor.null import NullExecutor
from fluxlike_executor.wire import ProtocolError

SPECS = {"d": {"command": ["true"]}}


def row(number: int, attempt: int = 1, digest: str = "d", count: int = 1) -> list[Any]:
    return [number, attempt, digest, None, 0, 1, 0, count, count, "0", ""]


@pytest.fixture
def executor() -> NullExecutor:
    return NullExecutor(Instance.unknown(5.0))


def told(executor: NullExecutor) -> list[list[Any]]:
    """Fresh results without their times."""
    return [[*r[:4], *r[5:]] for r in executor.results.take_fresh()]


def test_every_job_has_ended_well_when_start_returns(executor: NullExecutor) -> None:
    executor.start(SPECS, [row(7), row(8, 2, count=2)])
    assert told(executor) == [
        [1, 7, 1, "started", [0]],
        [2, 7, 1, "finished", [0], ""],
        [3, 8, 2, "started", [0, 0]],
        [4, 8, 2, "finished", [0, 0], ""],
    ]
    assert not executor.each_pass()


def test_a_repeated_start_is_ignored_until_the_finish_is_acknowledged(executor: NullExecutor) -> None:
    executor.start(SPECS, [row(7), row(7)])
    executor.start(SPECS, [row(7)])
    assert len(told(executor)) == 2
    assert executor.held() == [[7, 1, "finished"]]
    assert len(list(executor.results.unacked())) == 2
    executor.ack(1)
    assert executor.held() == [[7, 1, "finished"]]
    executor.ack(2)
    assert executor.held() == []
    assert list(executor.results.unacked()) == []


def test_a_job_without_its_spec_fails(executor: NullExecutor) -> None:
    executor.start({}, [row(7, digest="missing")])
    assert told(executor) == [[1, 7, 1, "finished", [126 << 8], "the start message lacks the spec missing"]]


def test_of_a_malformed_start_nothing_is_carried_out(executor: NullExecutor) -> None:
    with pytest.raises(ProtocolError):
        executor.start(SPECS, [row(7), [8]])
    assert told(executor) == []


def test_signals_for_jobs_that_are_not_there_are_harmless(executor: NullExecutor) -> None:
    executor.start(SPECS, [row(7)])
    executor.kill([(7, 1, 15), (9, 1, 15)])
    executor.signal([(9, 1, 15)])
    executor.stdin(9, 1, [], b"x", True)
    executor.output_ack([(9, 1, 1)])
    executor.end_jobs(15)
    assert len(told(executor)) == 2


def test_a_transient_command_is_not_kept(executor: NullExecutor) -> None:
    executor.start(SPECS, [row(-1)])
    assert len(told(executor)) == 2
    assert executor.held() == []
    assert list(executor.results.unacked()) == []
