"""Jobs that are over, on both databases: pages, logs, R, keys, and their removal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from fluxlike.job.eventlog import parse
from fluxlike_broker.store import history
from fluxlike_broker.store.history import EndedRow, Filter

if TYPE_CHECKING:
    from fluxlike_broker.store.writer import StoreWriter
    from tests.unit.store.conftest import Bench

AddJob = Callable[..., None]


def ids(rows: list[EndedRow]) -> list[int]:
    return [row.id for row in rows]


@pytest.fixture
def writer(bench: Bench, add_job: AddJob, end_job: AddJob) -> StoreWriter:
    """Jobs 1 to 9 have ended, two at a time: 8 and 9 last. 10 has not."""
    made = bench.writer()
    for job in range(1, 11):
        add_job(made.batch, job, digest=f"sha1-{job % 3}")
    for job in range(1, 10):
        kind = {"result": ["COMPLETED", "FAILED", "CANCELED"][job % 3], "userid": 1000 + job % 2, "name": f"n{job % 4}"}
        end_job(made.batch, job, ended=100.0 + job // 2, **kind)
    return made


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), [9, 8, 7, 6, 5, 4, 3, 2, 1]),
        (Filter(results=["FAILED"]), [7, 4, 1]),
        (Filter(results={"FAILED", "CANCELED"}), [8, 7, 5, 4, 2, 1]),
        (Filter(userid=1001), [9, 7, 5, 3, 1]),
        (Filter(userid=7), []),
        (Filter(name="n1"), [9, 5, 1]),
        (Filter(since=103.0), [9, 8, 7, 6]),
        (Filter(before=(103.0, 7)), [6, 5, 4, 3, 2, 1]),
        (Filter(before=(103.0, 6)), [5, 4, 3, 2, 1]),
        (Filter(before=(103.5, 0)), [7, 6, 5, 4, 3, 2, 1]),
        (Filter(results=["COMPLETED"], userid=1001, name="n1", since=101.0, before=(105.0, 0)), [9]),
    ],
)
def test_page_holds_what_fits_the_filter_and_the_newest_first(
    bench: Bench, writer: StoreWriter, wanted: Filter, found: list[int]
) -> None:
    assert ids(bench.ask(writer, partial(history.page, wanted=wanted, limit=0))) == found


def test_pages_joined_by_their_cursor_are_the_whole(bench: Bench, writer: StoreWriter) -> None:
    seen: list[int] = []
    cursor = None
    while rows := bench.ask(writer, partial(history.page, wanted=Filter(before=cursor), limit=2)):
        seen += ids(rows)
        cursor = (100.0 + seen[-1] // 2, seen[-1])
    assert seen == [9, 8, 7, 6, 5, 4, 3, 2, 1]


def test_row_of_an_ended_job_has_its_spec_and_summary(bench: Bench, writer: StoreWriter) -> None:
    [row] = bench.ask(writer, partial(history.page, wanted=Filter(), limit=1))
    assert row == EndedRow(9, "sha1-0", None, 0, b"summary9", b"{}")


def test_ended_finds_those_of_the_jobs_that_are_over(bench: Bench, writer: StoreWriter) -> None:
    found = bench.ask(writer, partial(history.ended, ids=[10, 3, 99, *range(1000, 2200), 4]))
    assert sorted(found) == [3, 4]
    assert found[3].summary == b"summary3"


def test_log_is_whole_in_whatever_parts_it_was_stored(bench: Bench, add_job: AddJob, end_job: AddJob) -> None:
    def count(job: int) -> list[int]:
        events = parse(bench.ask(writer, partial(history.log_of, job_id=job)))
        assert all(event[2]["job"] == job for event in events)  # type: ignore[index]  # all have one
        return [event[2]["seq"] for event in events]  # type: ignore[index]  # as above

    writer = bench.writer()
    for job in (1, 2, 3, 4):
        add_job(writer.batch, job, events=2)
    end_job(writer.batch, 1, seq=2)  # all in one batch
    writer.batch.allocation(1, "R1")
    bench.settle(writer)
    end_job(writer.batch, 2, seq=2)  # the end with the rest
    writer.batch.allocation(3, "R3")
    end_job(writer.batch, 3, seq=2)  # the end with R and the rest
    writer.batch.event(4, 2, '[1,"x",{"job":4,"seq":2}]')
    bench.settle(writer)
    end_job(writer.batch, 4, seq=3)  # the end after all
    bench.settle(writer)
    assert [count(job) for job in (1, 2, 3, 4)] == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_unknown_job_has_no_log_and_no_r(bench: Bench, writer: StoreWriter) -> None:
    assert bench.ask(writer, partial(history.log_of, job_id=77)) == []
    assert bench.ask(writer, partial(history.allocation_of, job_id=77)) is None


def test_r_is_found_whenever_it_came(bench: Bench, add_job: AddJob, end_job: AddJob) -> None:
    writer = bench.writer()
    for job in (1, 2, 3, 4):
        add_job(writer.batch, job)
    writer.batch.allocation(1, "with the submit")
    writer.batch.allocation(2, "with the submit and the end")
    end_job(writer.batch, 2)
    bench.settle(writer)
    writer.batch.allocation(3, "with the end")
    end_job(writer.batch, 3)
    end_job(writer.batch, 1)
    bench.settle(writer)
    found = [bench.ask(writer, partial(history.allocation_of, job_id=job)) for job in (1, 2, 3, 4)]
    assert found == ["with the submit", "with the submit and the end", "with the end", None]


def test_latest_r_of_a_job_that_was_allocated_twice_counts(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    writer.batch.allocation(1, "first")
    bench.settle(writer)
    writer.batch.event(1, 8, "[]")
    writer.batch.allocation(1, "second")
    assert bench.ask(writer, partial(history.allocation_of, job_id=1)) == "second"


def test_submission_is_found_by_its_key(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 5)
    writer.batch.key("sweep 7 ü", 5, 100, 1.5)
    assert bench.ask(writer, partial(history.submission, key="sweep 7 ü")) == (5, 100)
    assert bench.ask(writer, partial(history.submission, key="sweep 8")) is None


@pytest.mark.parametrize(
    ("which", "found"),
    [
        ({}, []),
        ({"before": 102.0}, [1, 2, 3]),
        ({"keep": 2}, [1, 2, 3, 4, 5, 6, 7]),
        ({"keep": 0}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"keep": 50}, []),
        ({"before": 101.0, "keep": 6}, [1, 2, 3]),
        ({"before": 104.0, "keep": 6}, [1, 2, 3, 4, 5, 6, 7]),
        ({"ids": [8, 77, 10, 2, *range(1000, 2200)]}, [2, 8]),
        ({"ids": [8], "before": 101.0}, [1, 8]),
    ],
)
def test_doomed_are_the_old_the_many_and_the_named(
    bench: Bench, writer: StoreWriter, which: dict[str, Any], found: list[int]
) -> None:
    doomed = bench.ask(writer, partial(history.doomed, **which))
    assert doomed.ids == found
    assert doomed.results == {job: ["COMPLETED", "FAILED", "CANCELED"][job % 3] for job in found}
    assert doomed.arrays == {}


def test_doomed_arrays_come_with_what_is_needed_to_uncount_them(
    bench: Bench, writer: StoreWriter, end_job: AddJob
) -> None:
    end_job(writer.batch, 10, tasks=5)
    doomed = bench.ask(writer, partial(history.doomed, ids=[9, 10]))
    assert (doomed.ids, doomed.results, doomed.arrays) == ([9, 10], {9: "COMPLETED"}, {10: (5, b"summary10")})


def test_nearest_job_up_to_an_id_is_found(bench: Bench, writer: StoreWriter) -> None:
    assert bench.ask(writer, partial(history.at_or_before, job_id=7)) == (7, 0)
    assert bench.ask(writer, partial(history.at_or_before, job_id=2**62)) == (10, 0)
    assert bench.ask(writer, partial(history.at_or_before, job_id=0)) is None


def test_forgotten_jobs_leave_nothing_behind(bench: Bench, add_job: AddJob, end_job: AddJob) -> None:
    writer = bench.writer()
    for job in range(1, 1301):
        add_job(writer.batch, job, digest=f"sha1-{job}" if job < 3 else "sha1-a")
        writer.batch.allocation(job, "R")
        writer.batch.key(f"key{job}", job, 1, 1.0)
        end_job(writer.batch, job)
    add_job(writer.batch, 2000, digest="sha1-2")
    assert bench.ask(writer, partial(history.forget, ids=range(1, 1300))) is None
    assert bench.ask(writer, history.forget_unused_specs) is None
    assert bench.look("SELECT id FROM jobs ORDER BY id") == [(1300,), (2000,)]
    assert bench.look("SELECT id FROM history") == [(1300,)]
    assert bench.look("SELECT job FROM segments") == [(1300,)]
    assert bench.look("SELECT first FROM submissions") == [(1300,)]
    assert bench.look("SELECT digest FROM specs ORDER BY digest") == [("sha1-2",), ("sha1-a",)]
