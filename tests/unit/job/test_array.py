"""The table of an array's tasks."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import InvalidTransition
from fluxlike.ids import FluidGenerator
from fluxlike.job.array import (
    CANCELED,
    DONE,
    HELD,
    PENDING,
    STARTED,
    TaskTable,
    alloc_context,
    finish_context,
    idset_text,
    indices,
)
from fluxlike.job.job import Job, apply

ID = FluidGenerator(lambda: 1_700_000_000_000, 5).next()
SUBMITTED = 1000.0


def table(count: int, **limits: int) -> TaskTable:
    made = TaskTable(ID, count, None)
    made.submitted(SUBMITTED, limits)
    return made


def give(tasks: TaskTable, *wanted: int, when: float = SUBMITTED) -> None:
    tasks.apply("task-alloc", when, alloc_context((index, [(0, str(index), "")]) for index in wanted))


def start(tasks: TaskTable, *those: int, when: float = SUBMITTED) -> None:
    tasks.apply("task-start", when, {"tasks": idset_text(those)})


def finish(tasks: TaskTable, statuses: dict[int, int], when: float = SUBMITTED) -> None:
    tasks.apply("task-finish", when, finish_context(statuses))


def except_(tasks: TaskTable, *those: int) -> None:
    tasks.apply("task-exception", SUBMITTED, {"tasks": idset_text(those), "type": "cancel", "note": ""})


# -- keys ---------------------------------------------------------------------------------------------------------


def test_key_of_a_task_gives_its_index_back_across_the_end_of_a_millisecond() -> None:
    tasks = table(3000)
    keys = [tasks.key(index) for index in range(3000)]
    assert keys == sorted(set(keys))
    assert [tasks.index(key) for key in keys] == list(range(3000))


def test_ids_around_the_keys_belong_to_no_task() -> None:
    tasks = table(3)
    assert tasks.index(ID) is None
    assert tasks.index(tasks.key(2) + 1) is None
    other_generator = tasks.key(1) ^ 1 << 10
    assert tasks.index(other_generator) is None


def test_value_of_a_task_is_its_index_unless_it_was_given() -> None:
    assert table(3).cc(2) == "2"
    assert TaskTable(ID, 2, ["a", "b"]).cc(1) == "b"


# -- for the scheduler --------------------------------------------------------------------------------------------


def test_tasks_are_taken_in_order_and_each_once() -> None:
    tasks = table(3)
    assert [tasks.index(tasks.take()) for _ in range(3)] == [0, 1, 2]
    assert not tasks.ready


def test_one_that_was_cancelled_is_not_taken() -> None:
    tasks = table(4)
    except_(tasks, 0, 2)
    taken = []
    while tasks.ready:
        taken.append(tasks.index(tasks.take()))
    assert taken == [1, 3]


def test_no_more_than_max_running_are_ready_at_once() -> None:
    tasks = table(10, max_running=3)
    taken = 0
    while tasks.ready:
        tasks.take()
        taken += 1
    assert taken == 3
    give(tasks, 0, 1, 2)
    assert not tasks.ready
    start(tasks, 0, 1, 2)
    assert not tasks.ready
    finish(tasks, {1: 0})
    assert tasks.ready
    tasks.take()
    assert not tasks.ready


def test_replayed_table_goes_on_with_the_first_that_waits() -> None:
    tasks = table(4)
    give(tasks, 0, 1)
    finish(tasks, {0: 0})
    assert tasks.index(tasks.take()) == 2


# -- events -------------------------------------------------------------------------------------------------------


def test_events_move_tasks_and_counts_follow() -> None:
    tasks = table(5)
    give(tasks, 0, 1, 2)
    start(tasks, 0, 1)
    finish(tasks, {0: 0})
    except_(tasks, 4)
    assert list(tasks.states) == [DONE, STARTED, HELD, PENDING, CANCELED]
    assert tasks.counts == [1, 1, 1, 1, 1]
    assert tasks.tally() == {"pending": 1, "running": 2, "completed": 1, "canceled": 1}
    assert tasks.active == 2
    assert not tasks.over
    assert list(tasks.running()) == [1, 2]


def test_exception_of_a_running_task_leaves_it_running() -> None:
    tasks = table(1)
    give(tasks, 0)
    except_(tasks, 0)
    assert tasks.states[0] == HELD
    assert tasks.failed == 0


def test_failed_ones_count_with_those_that_were_cancelled() -> None:
    tasks = table(4)
    give(tasks, 0, 1, 2)
    finish(tasks, {0: 0, 1: 256, 2: 15})
    except_(tasks, 3)
    assert tasks.failed == 3
    assert tasks.status == 256
    assert tasks.over
    assert [tasks.result(index) for index in range(4)] == ["completed", "failed", "failed", "canceled"]
    assert tasks.tally() == {"completed": 1, "failed": 2, "canceled": 1}


def test_times_of_a_task_are_those_of_its_events() -> None:
    tasks = table(3)
    give(tasks, 0, 1, when=SUBMITTED + 1.5)
    finish(tasks, {0: 0}, when=SUBMITTED + 2.25)
    assert tasks.times(0) == (SUBMITTED + 1.5, SUBMITTED + 2.25)
    assert tasks.times(1) == (SUBMITTED + 1.5, 0.0)
    assert tasks.times(2) == (0.0, 0.0)


def test_clock_that_was_set_back_gives_no_negative_time() -> None:
    tasks = table(1)
    give(tasks, 0, when=SUBMITTED - 100)
    assert tasks.times(0)[0] == SUBMITTED


def test_nodes_of_a_task_are_kept_while_it_holds_them() -> None:
    tasks = table(2)
    tasks.apply("task-alloc", SUBMITTED, alloc_context([(1, [(0, "0-3", ""), (2, "1", "0")])]))
    assert tasks.nodes == {1: [(0, "0-3", ""), (2, "1", "0")]}
    finish(tasks, {1: 0})
    assert tasks.nodes == {}


def test_event_of_tasks_is_refused_for_a_job_without_them() -> None:
    job = Job(7, "sha256-a", None)
    for name, context in _to_run():
        apply(job, SUBMITTED, name, context)
    with pytest.raises(InvalidTransition, match="it is not an array"):
        apply(job, SUBMITTED, "task-start", {"tasks": "0"})


def _to_run() -> list[tuple[str, dict[str, Any] | None]]:
    submit = {"urgency": 16, "userid": 1, "flags": []}
    return [("submit", submit), ("validate", None), ("depend", None), ("priority", {"priority": 16}), ("alloc", None)]


# -- the end, and texts -------------------------------------------------------------------------------------------


def test_packed_table_is_the_same_after_unpacking() -> None:
    tasks = table(4)
    give(tasks, 0, 1, when=SUBMITTED + 1)
    finish(tasks, {0: 0, 1: 256}, when=SUBMITTED + 2)
    except_(tasks, 2)
    again = TaskTable(ID, 4, None)
    again.unpack(tasks.pack(), SUBMITTED)
    assert (again.states, again.statuses, again.counts) == (tasks.states, tasks.statuses, tasks.counts)
    assert (again.failed, again.status, again.tally()) == (tasks.failed, tasks.status, tasks.tally())
    assert [again.times(index) for index in range(4)] == [tasks.times(index) for index in range(4)]


def test_a_million_alike_tasks_are_packed_into_little() -> None:
    assert len(table(1_000_000).pack()) < 100_000


@pytest.mark.parametrize(
    ("numbers", "text"), [([3], "3"), ([1, 2, 3], "1-3"), ([5, 1, 2, 9], "1-2,5,9"), ([0, 2, 4], "0,2,4")]
)
def test_idset_text_and_back(numbers: list[int], text: str) -> None:
    assert idset_text(numbers) == text
    assert list(indices(text)) == sorted(numbers)


def test_finished_tasks_are_gathered_by_their_status() -> None:
    assert finish_context({0: 0, 1: 0, 5: 256, 2: 0}) == {"statuses": {"0": "0-2", "256": "5"}}
