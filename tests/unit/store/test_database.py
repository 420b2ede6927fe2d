"""What lies on disk: who may read it, who may write it, and which version it is."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from fluxlike.errors import StoreUnavailable
from fluxlike_broker.store import schema
from fluxlike_broker.store.engine import StoreInUse
from fluxlike_broker.store.load import load

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench

AddJob = Callable[..., None]


def modes(bench: Bench) -> dict[str, int]:
    return {entry.name: entry.stat().st_mode & 0o777 for entry in os.scandir(bench.path.parent)}


@pytest.fixture
def open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_every_file_is_for_its_owner_alone(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(durable=True)
    add_job(writer.batch, 1)
    bench.settle(writer)
    names = ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal", "store.sqlite.lock"]
    assert modes(bench) == dict.fromkeys(names, 0o600)


@pytest.mark.usefixtures("open_umask")
def test_files_found_open_to_others_are_closed_to_them(bench: Bench, add_job: AddJob) -> None:
    first = bench.writer()
    add_job(first.batch, 1)
    bench.settle(first)
    with closing(sqlite3.connect(bench.path)) as other:  # keeps the WAL from being folded in
        other.execute("SELECT * FROM jobs").fetchall()
        first.close(30.0)
        for name in modes(bench):
            os.chmod(bench.path.with_name(name), 0o644)
        second = bench.writer()
        assert [job.id for job in bench.ask(second, load).active] == [1]
        found = modes(bench)
    del found["store.sqlite.lock"]
    assert set(found.values()) == {0o600}
    assert "store.sqlite-wal" in found


def test_durable_store_syncs_fully_and_a_relaxed_one_not_at_all(bench: Bench) -> None:
    for durable, level in ((True, 2), (False, 0)):
        writer = bench.writer(durable=durable)
        assert bench.ask(writer, lambda c: c.exec_driver_sql("PRAGMA synchronous").scalar()) == level
        assert bench.ask(writer, lambda c: c.exec_driver_sql("PRAGMA journal_mode").scalar()) == "wal"
        writer.close(30.0)


def test_second_writer_is_refused_and_told_who_has_the_store(bench: Bench, add_job: AddJob) -> None:
    first = bench.writer()
    add_job(first.batch, 1)
    bench.settle(first)
    second = bench.writer()
    add_job(second.batch, 2)
    second.flush()
    bench.run_until(lambda: bench.failures)
    expected = f"{bench.path}: the store is in use by process {os.getpid()}"
    assert bench.failures[0][1] == expected
    answer = bench.ask(second, load)
    assert isinstance(answer, StoreInUse)
    assert bench.look("SELECT id FROM jobs") == [(1,)]


def test_store_is_free_again_once_its_writer_has_closed(bench: Bench, add_job: AddJob) -> None:
    for job in range(3):
        writer = bench.writer()
        add_job(writer.batch, job)
        writer.close(30.0)
    assert bench.failures == []
    assert bench.look("SELECT id FROM jobs ORDER BY id") == [(0,), (1,), (2,)]


def test_child_processes_do_not_inherit_the_claim(bench: Bench, add_job: AddJob) -> None:
    first = bench.writer()
    add_job(first.batch, 1)
    bench.settle(first)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        first.close(30.0)
        assert [job.id for job in bench.ask(bench.writer(), load).active] == [1]
    finally:
        child.communicate(b"\n")


def test_newer_schema_is_refused_with_both_versions_named(bench: Bench) -> None:
    writer = bench.writer()
    bench.ask(writer, load)
    writer.close(30.0)
    with closing(sqlite3.connect(bench.path)) as other, other:
        other.execute("UPDATE state SET value = '7' WHERE key = 'store.schema'")

    answer = bench.ask(bench.writer(), load)
    assert isinstance(answer, schema.NewerSchema)
    assert str(answer) == f"{bench.path}: the store has schema version 7, this program knows up to 1"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TABLE state (key, value)", "not a fluxlike store"),
        ("CREATE TABLE jobs (other)", "table jobs already exists"),
    ],
)
def test_somebody_elses_database_is_left_alone(bench: Bench, statement: str, reason: str) -> None:
    with closing(sqlite3.connect(bench.path)) as other:
        other.execute(statement)
    answer = bench.ask(bench.writer(), load)
    assert isinstance(answer, StoreUnavailable)
    assert reason in str(answer)
    assert len(bench.look("SELECT name FROM sqlite_master")) == 1


def test_file_that_is_no_database_is_refused_and_kept(bench: Bench) -> None:
    bench.path.write_bytes(b"shopping list\n" * 100)
    answer = bench.ask(bench.writer(), load)
    assert isinstance(answer, StoreUnavailable)
    assert "not a database" in str(answer)
    assert bench.path.read_bytes() == b"shopping list\n" * 100


def test_tables_can_be_made_in_postgresql() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it unannotated
    made = {name: str(CreateTable(table).compile(dialect=dialect)) for name, table in schema.metadata.tables.items()}
    assert "id BIGINT NOT NULL" in made["jobs"]
    assert "summary BYTEA" in made["jobs"]
    assert "ts DOUBLE PRECISION NOT NULL" in made["events"]
    assert "ROWID" not in made["events"]
