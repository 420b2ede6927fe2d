"""The store fails, and works again: nothing lost, nothing reordered, nobody told too early."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from fluxlike.errors import StoreUnavailable
from fluxlike_broker.store.load import load

if TYPE_CHECKING:
    from fluxlike_broker.store.writer import StoreWriter
    from tests.unit.store.conftest import Bench

AddJob = Callable[..., None]
ROOM = 100_000


class Disk:
    """What every new connection will find: how many pages there is room for, and how often it breaks off."""

    def __init__(self) -> None:
        self.pages = ROOM
        self.interrupt: Callable[[], bool] = lambda: False

    def on_connect(self, driver: sqlite3.Connection, _record: object) -> None:
        driver.execute(f"PRAGMA max_page_count = {self.pages}")
        driver.set_progress_handler(lambda: self.interrupt(), 200)


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    event.listen(Engine, "connect", made.on_connect)
    yield made
    event.remove(Engine, "connect", made.on_connect)


@contextmanager
def full_disk(bench: Bench, writer: StoreWriter) -> Iterator[None]:
    """No file may grow any further: the real error of a real write()."""
    size = max(os.path.getsize(bench.path), os.path.getsize(f"{bench.path}-wal"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def foreign_lock(bench: Bench, writer: StoreWriter) -> Iterator[None]:
    with closing(sqlite3.connect(bench.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def lost_directory(bench: Bench, writer: StoreWriter) -> Iterator[None]:
    here, away = bench.path.parent, bench.path.parent.with_name("away")
    here.rename(away)
    yield
    away.rename(here)


FAULTS = {"write error": full_disk, "locked": foreign_lock, "gone": lost_directory}
REASONS = {"write error": "disk", "locked": "database is locked", "gone": "gone or was replaced"}


@pytest.mark.parametrize("fault", FAULTS)
def test_outage_is_reported_with_its_reason_and_ends_without_a_restart(
    bench: Bench, add_job: AddJob, fault: str
) -> None:
    writer = bench.writer(durable=True)
    add_job(writer.batch, 1)
    bench.settle(writer)
    acknowledged: list[int] = []

    with FAULTS[fault](bench, writer):
        for job in range(2, 300):
            add_job(writer.batch, job)
            writer.batch.after_commit(partial(acknowledged.append, job))
            writer.flush()
        bench.run_until(lambda: bench.failures)
        reason = bench.failures[0][1]
        assert REASONS[fault] in reason
        assert str(bench.path) in reason
        assert writer.failure == reason
        assert acknowledged == []

    bench.run_until(lambda: bench.recoveries)
    bench.settle(writer)
    assert acknowledged == list(range(2, 300))
    assert len(bench.failures) == bench.recoveries == 1
    assert not writer.failure
    assert bench.look("SELECT job, count(*) FROM events GROUP BY job") == [(job, 8) for job in range(1, 300)]


def test_full_database_recovers_when_there_is_room_again(bench: Bench, disk: Disk, add_job: AddJob) -> None:
    disk.pages = 20
    writer = bench.writer()
    bench.settle(writer)
    for job in range(2000):
        add_job(writer.batch, job)
    writer.flush()
    bench.run_until(lambda: bench.failures)
    assert "full" in bench.failures[0][1]
    assert bench.look("SELECT count(*) FROM jobs") == [(0,)], "nothing of a failed batch stays behind"

    disk.pages = ROOM
    bench.run_until(lambda: bench.recoveries)
    assert bench.look("SELECT count(*) FROM events") == [(16_000,)]


def test_order_is_kept_through_many_outages(bench: Bench, disk: Disk) -> None:
    """One job's log grows while statements break off at random; whoever looks sees a log without holes."""
    writer = bench.writer()
    writer.batch.job(1, "sha1-a", 0, 16, "", None, 0.0)
    bench.settle(writer)
    chance = random.Random(20)
    disk.interrupt = lambda: chance.random() < 0.02
    acknowledged: list[int] = []

    def acknowledge(seq: int) -> None:
        count, last = bench.look("SELECT count(*), max(seq) FROM events")[0]
        assert count == last + 1 > seq
        acknowledged.append(seq)

    for seq in range(2000):
        writer.batch.event(1, seq, float(seq), "tick", None)
        writer.batch.after_commit(partial(acknowledge, seq))
        writer.flush()
        if seq % 10 == 0:
            bench.turn()
        if seq % 100 == 99:
            bench.run_until(lambda: len(acknowledged) == seq + 1)  # noqa: B023  run before the next turn
    assert acknowledged == list(range(2000))
    assert len(bench.failures) > 1, "the disk was meant to fail"
    assert len(bench.failures) == bench.recoveries
    assert bench.look("SELECT seq FROM events ORDER BY ts") == [(seq,) for seq in range(2000)]


def test_refused_jobs_never_reach_the_disk_and_news_of_others_does(bench: Bench, disk: Disk, add_job: AddJob) -> None:
    disk.pages = 20
    bench.refuse_new_jobs = True
    writer = bench.writer()
    add_job(writer.batch, 1, events=1)
    bench.settle(writer)
    for job in range(1000, 3000):  # handed over, fails
        add_job(writer.batch, job)
    writer.flush()
    for job in range(3000, 3010):  # still gathering when that becomes known
        add_job(writer.batch, job)
    writer.batch.event(1, 1, 9.0, "finish", "x" * 200_000)  # alone too much for the disk
    bench.run_until(lambda: bench.failures)

    disk.pages = ROOM
    bench.run_until(lambda: bench.recoveries)
    assert bench.look("SELECT id FROM jobs") == [(1,)]
    assert bench.look("SELECT job, seq, name FROM events") == [(1, 0, "submit"), (1, 1, "finish")]


def test_store_recovers_when_everything_unwritten_was_refused(bench: Bench, disk: Disk, add_job: AddJob) -> None:
    bench.refuse_new_jobs = True
    writer = bench.writer()
    writer.batch.put("before", "1")
    bench.settle(writer)
    with lost_directory(bench, writer):
        add_job(writer.batch, 2)
        writer.batch.specs.clear()
        writer.flush()
        bench.run_until(lambda: bench.failures)
        assert not writer.batch
        posted = bench.posted
        bench.run_until(lambda: bench.posted > posted + 6)  # several retries, each posts twice
        assert bench.recoveries == 0, "having nothing to write does not mend a disk"
    bench.run_until(lambda: bench.recoveries)
    assert bench.look("SELECT id FROM jobs") == []


def test_each_outage_is_reported_once(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    bench.settle(writer)
    add_job(writer.batch, 0)
    bench.settle(writer)
    for outage in (1, 2):
        with lost_directory(bench, writer):
            add_job(writer.batch, outage)
            writer.flush()
            bench.run_until(lambda: len(bench.failures) == outage)  # noqa: B023  run before the next turn
            retried: list[Any] = []
            for _ in range(3):
                writer.query(lambda c: None, retried.append)
            bench.run_until(lambda: len(retried) == 3)  # noqa: B023  run before the next turn
            assert len(bench.failures) == outage
        bench.run_until(lambda: bench.recoveries == outage)  # noqa: B023  run before the next turn


def test_query_during_an_outage_is_told_so_and_not_kept_waiting(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    bench.settle(writer)
    with lost_directory(bench, writer):
        add_job(writer.batch, 2)
        writer.flush()
        bench.run_until(lambda: bench.failures)
        answer = bench.ask(writer, load)
        assert isinstance(answer, StoreUnavailable)
        assert "gone or was replaced" in str(answer)
    assert [job.id for job in bench.ask(writer, load).active] == [1, 2]


def test_new_flush_tries_again_without_waiting_for_the_retry(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    bench.settle(writer)
    with lost_directory(bench, writer):
        add_job(writer.batch, 2)
        writer.flush()
        bench.run_until(lambda: bench.failures)
    add_job(writer.batch, 3)
    bench.settle(writer)
    assert bench.recoveries == 1
    assert bench.look("SELECT id FROM jobs ORDER BY id") == [(1,), (2,), (3,)]


def test_store_that_cannot_be_opened_is_an_outage_too(bench: Bench, add_job: AddJob) -> None:
    bench.path.parent.rmdir()
    writer = bench.writer()
    assert isinstance(bench.ask(writer, load), StoreUnavailable)
    assert len(bench.failures) == 1
    bench.path.parent.mkdir()
    bench.run_until(lambda: bench.recoveries)
    assert bench.ask(writer, load).active == []


def test_close_during_an_outage_keeps_trying_until_its_timeout(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    bench.settle(writer)
    other = sqlite3.connect(bench.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    seen: list[bool] = []
    add_job(writer.batch, 2)
    writer.batch.after_commit(lambda: seen.append(True))
    writer.flush()
    bench.run_until(lambda: bench.failures)
    other.close()
    writer.close(30.0)
    assert seen == [True]
    assert bench.recoveries == 1


def test_replaced_file_is_not_written_to(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    bench.settle(writer)
    bench.path.rename(bench.path.with_name("old"))
    with closing(sqlite3.connect(bench.path)) as other:
        other.execute("CREATE TABLE precious (x)")
    add_job(writer.batch, 2)
    writer.flush()
    bench.run_until(lambda: bench.failures)
    assert isinstance(bench.ask(writer, load), StoreUnavailable)
    assert bench.look("SELECT name FROM sqlite_master") == [("precious",)]
