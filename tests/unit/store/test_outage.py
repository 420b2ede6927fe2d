"""The store fails, and works again: nothing lost, nothing reordered, nobody told too early."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from fluxlike.errors import StoreUnavailable
from fluxlike.job.eventlog import parse
from fluxlike_broker.store.load import load

if TYPE_CHECKING:
    from fluxlike_broker.store.writer import StoreWriter
    from tests.unit.store.conftest import FileBench

AddJob = Callable[..., None]
ROOM = 100_000


class Disk:
    """What every new connection will find: how many pages there is room for, and how often it breaks off."""

    def __init__(self) -> None:
        self.pages = ROOM
        self.interrupt: Callable[[], bool] = lambda: False

    def on_connect(self, driver: sqlite3.Connection, _record: object) -> None:
        driver.execute(f"PRAGMA max_page_count = {self.pages}")
        driver.set_progress_handler(lambda: self.interrupt(), 100)


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    event.listen(Engine, "connect", made.on_connect)
    yield made
    event.remove(Engine, "connect", made.on_connect)


@contextmanager
def full_disk(file_bench: FileBench, writer: StoreWriter) -> Iterator[None]:
    """No file may grow any further: the real error of a real write()."""
    size = max(os.path.getsize(file_bench.path), os.path.getsize(f"{file_bench.path}-wal"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def foreign_lock(file_bench: FileBench, writer: StoreWriter) -> Iterator[None]:
    with closing(sqlite3.connect(file_bench.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def lost_directory(file_bench: FileBench, writer: StoreWriter) -> Iterator[None]:
    here, away = file_bench.path.parent, file_bench.path.parent.with_name("away")
    here.rename(away)
    yield
    away.rename(here)


FAULTS = {"write error": full_disk, "locked": foreign_lock, "gone": lost_directory}
REASONS = {"write error": "disk", "locked": "database is locked", "gone": "gone or was replaced"}


@pytest.mark.parametrize("fault", FAULTS)
def test_outage_is_reported_with_its_reason_and_ends_without_a_restart(
    file_bench: FileBench, add_job: AddJob, fault: str
) -> None:
    writer = file_bench.writer(durable=True)
    add_job(writer.batch, 1)
    file_bench.settle(writer)
    acknowledged: list[int] = []

    with FAULTS[fault](file_bench, writer):
        for job in range(2, 300):
            add_job(writer.batch, job)
            writer.batch.after_commit(partial(acknowledged.append, job))
            writer.flush()
        file_bench.run_until(lambda: file_bench.failures)
        reason = file_bench.failures[0][1]
        assert REASONS[fault] in reason
        assert str(file_bench.path) in reason
        assert writer.failure == reason
        assert acknowledged == []

    file_bench.run_until(lambda: file_bench.recoveries)
    file_bench.settle(writer)
    assert acknowledged == list(range(2, 300))
    assert len(file_bench.failures) == file_bench.recoveries == 1
    assert not writer.failure
    assert file_bench.look("SELECT id FROM jobs ORDER BY id") == [(job,) for job in range(1, 300)]


def test_full_database_recovers_when_there_is_room_again(file_bench: FileBench, disk: Disk, add_job: AddJob) -> None:
    disk.pages = 20
    writer = file_bench.writer()
    file_bench.settle(writer)
    for job in range(2000):
        add_job(writer.batch, job)
    writer.flush()
    file_bench.run_until(lambda: file_bench.failures)
    assert "full" in file_bench.failures[0][1]
    assert file_bench.look("SELECT count(*) FROM jobs") == [(0,)], "nothing of a failed batch stays behind"

    disk.pages = ROOM
    file_bench.run_until(lambda: file_bench.recoveries)
    assert file_bench.look("SELECT count(*) FROM jobs") == [(2000,)]


def in_every_log(bench: FileBench) -> list[int]:
    """Numbers of the events that came after the jobs' first; they must be the same for each job."""
    logs = defaultdict[int, list[str]](list)
    for job, log in bench.look("SELECT job, log FROM segments ORDER BY job, seq"):
        logs[job].append(log)
    [found] = {tuple(event[2]["seq"] for event in parse(log)) for log in logs.values()}  # type: ignore[index]
    return list(found)


def test_order_is_kept_through_many_outages(file_bench: FileBench, disk: Disk, log_part: Callable[..., str]) -> None:
    """Logs grow while statements break off at random; whoever looks sees logs without holes, all equally long."""
    jobs = range(20)
    writer = file_bench.writer()
    for job in jobs:
        writer.batch.job((job, "sha1-a", 0, 16, "", None, 0.0, 1))
        writer.batch.event(job, 0, log_part(job, 0, 1))
    file_bench.settle(writer)
    chance = random.Random(20)
    disk.interrupt = lambda: chance.random() < 0.02
    acknowledged: list[int] = []

    def acknowledge(seq: int) -> None:
        found = in_every_log(file_bench)
        assert found == list(range(1, len(found) + 1))
        assert found[-1] >= seq
        acknowledged.append(seq)

    for seq in range(1, 301):
        for job in jobs:
            writer.batch.event(job, seq, log_part(job, seq, 1))
        writer.batch.after_commit(partial(acknowledge, seq))
        writer.flush()
        if seq % 5 == 0:
            file_bench.turn()
        if seq % 30 == 0:
            file_bench.run_until(lambda: len(acknowledged) == seq)  # noqa: B023  run before the next turn
    assert acknowledged == in_every_log(file_bench) == list(range(1, 301))
    assert len(file_bench.failures) > 1, "the disk was meant to fail"
    assert len(file_bench.failures) == file_bench.recoveries


def test_refused_jobs_never_reach_the_disk_and_news_of_others_does(
    file_bench: FileBench, disk: Disk, add_job: AddJob
) -> None:
    disk.pages = 20
    file_bench.refuse_new_jobs = True
    writer = file_bench.writer()
    add_job(writer.batch, 1, events=1)
    file_bench.settle(writer)
    for job in range(1000, 3000):  # handed over, fails
        add_job(writer.batch, job)
    writer.flush()
    for job in range(3000, 3010):  # still gathering when that becomes known
        add_job(writer.batch, job)
    writer.batch.event(1, 1, "x" * 200_000)  # alone too much for the disk
    file_bench.run_until(lambda: file_bench.failures)

    disk.pages = ROOM
    file_bench.run_until(lambda: file_bench.recoveries)
    assert file_bench.look("SELECT id FROM jobs") == [(1,)]
    assert file_bench.look("SELECT job, seq, length(log) FROM segments") == [(1, 1, 200_000)]


def test_store_recovers_when_everything_unwritten_was_refused(
    file_bench: FileBench, disk: Disk, add_job: AddJob
) -> None:
    file_bench.refuse_new_jobs = True
    writer = file_bench.writer()
    writer.batch.put("before", "1")
    file_bench.settle(writer)
    with lost_directory(file_bench, writer):
        add_job(writer.batch, 2)
        writer.batch.specs.clear()
        writer.flush()
        file_bench.run_until(lambda: file_bench.failures)
        assert not writer.batch
        posted = file_bench.posted
        file_bench.run_until(lambda: file_bench.posted > posted + 6)  # several retries, each posts twice
        assert file_bench.recoveries == 0, "having nothing to write does not mend a disk"
    file_bench.run_until(lambda: file_bench.recoveries)
    assert file_bench.look("SELECT id FROM jobs") == []


def test_each_outage_is_reported_once(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer()
    file_bench.settle(writer)
    add_job(writer.batch, 0)
    file_bench.settle(writer)
    for outage in (1, 2):
        with lost_directory(file_bench, writer):
            add_job(writer.batch, outage)
            writer.flush()
            file_bench.run_until(lambda: len(file_bench.failures) == outage)  # noqa: B023  run before the next turn
            retried: list[Any] = []
            for _ in range(3):
                writer.query(lambda c: None, retried.append)
            file_bench.run_until(lambda: len(retried) == 3)  # noqa: B023  run before the next turn
            assert len(file_bench.failures) == outage
        file_bench.run_until(lambda: file_bench.recoveries == outage)  # noqa: B023  run before the next turn


def test_query_during_an_outage_is_told_so_and_not_kept_waiting(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    file_bench.settle(writer)
    with lost_directory(file_bench, writer):
        add_job(writer.batch, 2)
        writer.flush()
        file_bench.run_until(lambda: file_bench.failures)
        answer = file_bench.ask(writer, load)
        assert isinstance(answer, StoreUnavailable)
        assert "gone or was replaced" in str(answer)
    assert [job.id for job in file_bench.ask(writer, load).active] == [1, 2]


def test_new_flush_tries_again_without_waiting_for_the_retry(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    file_bench.settle(writer)
    with lost_directory(file_bench, writer):
        add_job(writer.batch, 2)
        writer.flush()
        file_bench.run_until(lambda: file_bench.failures)
    add_job(writer.batch, 3)
    file_bench.settle(writer)
    assert file_bench.recoveries == 1
    assert file_bench.look("SELECT id FROM jobs ORDER BY id") == [(1,), (2,), (3,)]


def test_store_that_cannot_be_opened_is_an_outage_too(file_bench: FileBench, add_job: AddJob) -> None:
    file_bench.path.parent.rmdir()
    writer = file_bench.writer()
    assert isinstance(file_bench.ask(writer, load), StoreUnavailable)
    assert len(file_bench.failures) == 1
    file_bench.path.parent.mkdir()
    file_bench.run_until(lambda: file_bench.recoveries)
    assert file_bench.ask(writer, load).active == []


def test_close_during_an_outage_keeps_trying_until_its_timeout(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer()
    add_job(writer.batch, 1)
    file_bench.settle(writer)
    other = sqlite3.connect(file_bench.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    seen: list[bool] = []
    add_job(writer.batch, 2)
    writer.batch.after_commit(lambda: seen.append(True))
    writer.flush()
    file_bench.run_until(lambda: file_bench.failures)
    other.close()
    writer.close(30.0)
    assert seen == [True]
    assert file_bench.recoveries == 1


def test_replaced_file_is_not_written_to(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer()
    add_job(writer.batch, 1)
    file_bench.settle(writer)
    file_bench.path.rename(file_bench.path.with_name("old"))
    with closing(sqlite3.connect(file_bench.path)) as other:
        other.execute("CREATE TABLE precious (x)")
    add_job(writer.batch, 2)
    writer.flush()
    file_bench.run_until(lambda: file_bench.failures)
    assert isinstance(file_bench.ask(writer, load), StoreUnavailable)
    assert file_bench.look("SELECT name FROM sqlite_master") == [("precious",)]
