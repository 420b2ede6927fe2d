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

from fluxlike.errors import StoreUnavailable
from fluxlike_broker.store import schema
from fluxlike_broker.store.engine import StoreInUse
from fluxlike_broker.store.load import load

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench, FileBench

AddJob = Callable[..., None]


def modes(bench: FileBench) -> dict[str, int]:
    return {entry.name: entry.stat().st_mode & 0o777 for entry in os.scandir(bench.path.parent)}


@pytest.fixture
def open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_every_file_is_for_its_owner_alone(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer(durable=True)
    add_job(writer.batch, 1)
    file_bench.settle(writer)
    names = ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal", "store.sqlite.lock"]
    assert modes(file_bench) == dict.fromkeys(names, 0o600)


@pytest.mark.usefixtures("open_umask")
def test_files_found_open_to_others_are_closed_to_them(file_bench: FileBench, add_job: AddJob) -> None:
    first = file_bench.writer()
    add_job(first.batch, 1)
    file_bench.settle(first)
    with closing(sqlite3.connect(file_bench.path)) as other:  # keeps the WAL from being folded in
        other.execute("SELECT * FROM jobs").fetchall()
        first.close(30.0)
        for name in modes(file_bench):
            os.chmod(file_bench.path.with_name(name), 0o644)
        second = file_bench.writer()
        assert [job.id for job in file_bench.ask(second, load).active] == [1]
        found = modes(file_bench)
    del found["store.sqlite.lock"]
    assert set(found.values()) == {0o600}
    assert "store.sqlite-wal" in found


def test_durable_store_syncs_fully_and_a_relaxed_one_not_at_all(file_bench: FileBench) -> None:
    for durable, level in ((True, 2), (False, 0)):
        writer = file_bench.writer(durable=durable)
        assert file_bench.ask(writer, lambda c: c.exec_driver_sql("PRAGMA synchronous").scalar()) == level
        assert file_bench.ask(writer, lambda c: c.exec_driver_sql("PRAGMA journal_mode").scalar()) == "wal"
        writer.close(30.0)


def test_second_writer_is_refused_and_told_who_has_the_store(file_bench: FileBench, add_job: AddJob) -> None:
    first = file_bench.writer()
    add_job(first.batch, 1)
    file_bench.settle(first)
    second = file_bench.writer()
    add_job(second.batch, 2)
    second.flush()
    file_bench.run_until(lambda: file_bench.failures)
    expected = f"{file_bench.path}: the store is in use by process {os.getpid()}"
    assert file_bench.failures[0][1] == expected
    answer = file_bench.ask(second, load)
    assert isinstance(answer, StoreInUse)
    assert file_bench.look("SELECT id FROM jobs") == [(1,)]


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


def test_newer_schema_is_refused_with_both_versions_named(file_bench: FileBench) -> None:
    writer = file_bench.writer()
    file_bench.ask(writer, load)
    writer.close(30.0)
    with closing(sqlite3.connect(file_bench.path)) as other, other:
        other.execute("UPDATE state SET value = '7' WHERE key = 'store.schema'")

    answer = file_bench.ask(file_bench.writer(), load)
    assert isinstance(answer, schema.OtherSchema)
    expected = f"the store has schema version 7, of a newer fluxlike; this one knows {schema.VERSION} only"
    assert str(answer) == f"{file_bench.path}: {expected}"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TABLE state (key, value)", "not a fluxlike store"),
        ("CREATE TABLE jobs (other)", "table jobs already exists"),
    ],
)
def test_somebody_elses_database_is_left_alone(file_bench: FileBench, statement: str, reason: str) -> None:
    with closing(sqlite3.connect(file_bench.path)) as other:
        other.execute(statement)
    answer = file_bench.ask(file_bench.writer(), load)
    assert isinstance(answer, StoreUnavailable)
    assert reason in str(answer)
    assert len(file_bench.look("SELECT name FROM sqlite_master")) == 1


def test_file_that_is_no_database_is_refused_and_kept(file_bench: FileBench) -> None:
    file_bench.path.write_bytes(b"shopping list\n" * 100)
    answer = file_bench.ask(file_bench.writer(), load)
    assert isinstance(answer, StoreUnavailable)
    assert "not a database" in str(answer)
    assert file_bench.path.read_bytes() == b"shopping list\n" * 100
