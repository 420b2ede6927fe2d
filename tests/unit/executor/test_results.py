from __future__ import annotations

from fluxlike_executor.results import ResultLog


def test_rows_are_numbered_in_order_and_kept_until_acknowledged() -> None:
    log = ResultLog()
    log.started(7, 1, 1.5, [100])
    log.finished(7, 1, 2.5, [0], "")
    expected = [[1, 7, 1, "started", 1.5, [100]], [2, 7, 1, "finished", 2.5, [0], ""]]
    assert log.take_fresh() == expected
    assert log.take_fresh() == []
    assert list(log.unacked()) == expected
    assert log.ack(1) == []
    assert list(log.unacked()) == expected[1:]


def test_acknowledgement_names_the_jobs_that_are_settled() -> None:
    log = ResultLog()
    log.finished(7, 1, 2.5, [0], "")
    log.finished(8, 3, 2.5, [0], "")
    assert log.ack(99) == [(7, 1), (8, 3)]
    assert log.ack(99) == []


def test_rows_of_a_transient_are_told_but_not_kept() -> None:
    log = ResultLog()
    log.started(-1, 1, 1.5, [100])
    assert len(log.take_fresh()) == 1
    assert list(log.unacked()) == []
