"""What the leader knows of one job's tasks."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.protocol.internal import LaunchRow
from fluxlike_broker.modules.execution.runs import Run


def row(**given: Any) -> LaunchRow:
    usual: dict[str, Any] = {
        "id": 7,
        "attempt": 2,
        "digest": "sha256-a",
        "spec": {"stdout": "", "stderr": "", "append": False},
        "cc": "x",
        "nodes": [(4, 0, 2, "0-1", ""), (6, 2, 1, "0", "3")],
        "ntasks": 3,
        "allocated_at": 10.0,
    }
    return LaunchRow(**usual | given)


def test_run_goes_by_id_and_attempt() -> None:
    assert Run(row()).key == [7, 2]


def test_each_rank_gets_its_own_row() -> None:
    run = Run(row())
    assert run.start_row(4) == [7, 2, "sha256-a", "x", 0, 2, 0, 2, 3, "0-1", ""]
    assert run.start_row(6) == [7, 2, "sha256-a", "x", 1, 2, 2, 1, 3, "0", "3"]


def test_ranks_that_share_a_file_wait_until_the_first_has_emptied_it_and_append() -> None:
    spec = {"stdout": "job.out", "stderr": "", "append": False}
    run = Run(row(spec=spec))
    assert run.followers == [6]
    assert run.spec_for(4) == ("sha256-a", spec)
    assert run.spec_for(6) == ("sha256-a+append", spec | {"append": True})
    assert run.start_row(6)[2] == "sha256-a+append"


@pytest.mark.parametrize("stdout", ["", "job.{{node.id}}.out", "job.{{task.rank}}.out"])
def test_ranks_with_files_of_their_own_start_together(stdout: str) -> None:
    run = Run(row(spec={"stdout": stdout, "stderr": "", "append": False}))
    assert run.followers == []
    assert run.spec_for(6)[0] == "sha256-a"


def test_job_has_started_when_its_last_rank_has() -> None:
    run = Run(row())
    assert [run.started(4), run.started(4), run.started(6), run.started(6)] == [False, False, True, False]


def test_job_that_had_started_before_a_restart_does_not_start_again() -> None:
    run = Run(row(adopt=True, started=True))
    assert [run.started(4), run.started(6)] == [False, False]


def test_job_has_finished_when_its_last_rank_has_and_only_once() -> None:
    run = Run(row())
    assert [run.finished(6, [0]), run.finished(6, [0]), run.finished(4, [0, 0])] == [False, False, True]
    assert run.finished(4, [0, 0]) is False


def test_status_is_the_worst_of_all_tasks_and_a_repeat_adds_nothing() -> None:
    run = Run(row())
    run.finished(4, [0, 256])
    run.finished(4, [9 << 8, 9 << 8])
    run.finished(6, [9])
    assert run.status == 256


def test_status_of_a_run_that_nobody_reported_is_good() -> None:
    assert Run(row()).status == 0


def test_strange_rank_neither_starts_nor_finishes_anything() -> None:
    run = Run(row())
    assert (run.started(5), run.finished(5, [256])) == (False, False)
    assert (run.unstarted, run.unfinished, run.status) == ({4, 6}, {4, 6}, 0)
