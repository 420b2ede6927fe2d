"""The table of an array's tasks after any history: replay gives it back, and its counts are right."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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

ID = FluidGenerator(lambda: 1_700_000_000_000, 0).next()
ORIGIN = 1_700_000_000.0

Event = tuple[str, float, dict[str, Any]]


class History:
    """Makes legal events one by one, as a job manager would, and applies them."""

    def __init__(self, count: int, limits: dict[str, int]) -> None:
        self.table = TaskTable(ID, count, None)
        self.limits = limits
        self.table.submitted(ORIGIN, limits)
        self.events: list[Event] = []
        self.now = ORIGIN
        self.most = 0

    def step(self, data: st.DataObject) -> None:
        self.now += data.draw(st.floats(0, 5))
        event = getattr(self, "_" + data.draw(st.sampled_from(["alloc", "start", "finish", "exception"])))(data)
        if event is not None:
            self.events.append((event[0], self.now, event[1]))
            self.table.apply(*self.events[-1])
        self.most = max(self.most, self.table.active)

    def _some(self, data: st.DataObject, *states: int) -> list[int]:
        those = [index for index, state in enumerate(self.table.states) if state in states]
        return data.draw(st.lists(st.sampled_from(those), unique=True, min_size=1)) if those else []

    def _alloc(self, data: st.DataObject) -> tuple[str, dict[str, Any]] | None:
        rows = []
        wanted = data.draw(st.integers(1, 4))
        while self.table.ready and len(rows) < wanted:
            index = self.table.index(self.table.take())
            assert index is not None
            assert self.table.states[index] == PENDING
            rows.append((index, [(data.draw(st.integers(0, 3)), "0", "")]))
        assert len({index for index, _ in rows}) == len(rows)
        return ("task-alloc", alloc_context(rows)) if rows else None

    def _start(self, data: st.DataObject) -> tuple[str, dict[str, Any]] | None:
        those = self._some(data, HELD)
        return ("task-start", {"tasks": idset_text(those)}) if those else None

    def _finish(self, data: st.DataObject) -> tuple[str, dict[str, Any]] | None:
        those = self._some(data, HELD, STARTED)
        statuses = {index: data.draw(st.sampled_from([0, 0, 15, 256, 512])) for index in those}
        return ("task-finish", finish_context(statuses)) if those else None

    def _exception(self, data: st.DataObject) -> tuple[str, dict[str, Any]] | None:
        those = self._some(data, PENDING, HELD, STARTED)
        return ("task-exception", {"tasks": idset_text(those), "type": "cancel"}) if those else None

    def replayed(self) -> TaskTable:
        again = TaskTable(ID, self.table.count, None)
        again.submitted(ORIGIN, self.limits)
        for event in self.events:
            again.apply(*event)
        return again


def seen(table: TaskTable) -> dict[str, Any]:
    """All that anybody can know of a table."""
    return {
        "states": bytes(table.states),
        "statuses": list(table.statuses),
        "counts": table.counts,
        "failed": table.failed,
        "status": table.status,
        "tally": table.tally(),
        "times": [table.times(index) for index in range(table.count)],
        "over": table.over,
    }


def in_use(table: TaskTable) -> dict[str, Any]:
    """What also matters while tasks run."""
    following = table.index(table.take()) if table.ready else None
    return {"nodes": table.nodes, "active": table.active, "running": list(table.running()), "next": following}


@st.composite
def histories(draw: st.DrawFn) -> History:
    history = History(
        draw(st.integers(1, 12)), {"max_running": draw(st.integers(0, 4)), "max_fails": draw(st.integers(-1, 3))}
    )
    data = draw(st.data())
    for _ in range(draw(st.integers(0, 25))):
        history.step(data)
    return history


@given(histories())
def test_replay_gives_the_same_table(history: History) -> None:
    again = history.replayed()
    assert seen(again) == seen(history.table)
    assert in_use(again) == in_use(history.table)


@given(histories())
def test_counts_equal_a_recount(history: History) -> None:
    table = history.table
    assert table.counts == [table.states.count(state) for state in range(5)]
    assert sum(table.counts) == table.count
    assert table.failed == table.counts[CANCELED] + sum(1 for status in table.statuses if status > 0)
    assert table.status == max(0, *table.statuses)
    assert sum(table.tally().values()) == table.count
    assert set(table.nodes) == {index for index, state in enumerate(table.states) if state in (HELD, STARTED)}
    assert all((status < 0) == (table.states[index] != DONE) for index, status in enumerate(table.statuses))


@given(histories())
def test_never_more_run_than_max_running(history: History) -> None:
    if history.limits["max_running"]:
        assert history.most <= history.limits["max_running"]


@given(histories())
def test_packed_and_unpacked_it_is_the_same(history: History) -> None:
    again = TaskTable(ID, history.table.count, None)
    again.unpack(history.table.pack(), ORIGIN)
    assert seen(again) == seen(history.table)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_idset_text_names_each_once(numbers: set[int]) -> None:
    assert list(indices(idset_text(numbers))) == sorted(numbers)
