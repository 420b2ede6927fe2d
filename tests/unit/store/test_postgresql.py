"""What only a server can do to us: be gone, come back with less, answer to others, not answer at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from fluxlike.errors import ConfigError, StoreUnavailable
from fluxlike.testing.wire import Wire
from fluxlike_broker.store.engine import StoreInUse, open_database
from fluxlike_broker.store.load import load

if TYPE_CHECKING:
    from fluxlike_broker.store.writer import StoreWriter
    from tests.unit.store.conftest import ServerBench

AddJob = Callable[..., None]


@pytest.fixture
def wire(server_bench: ServerBench) -> Iterator[Wire]:
    made = Wire(server_bench.server.folder)
    yield made
    made.close()


@pytest.fixture
def by_wire(server_bench: ServerBench, wire: Wire) -> StoreWriter:
    """A writer with one job on disk, whose connection is in our hands."""
    writer = server_bench.writer(url=server_bench.server.url(server_bench.schema, socket=wire.folder))
    writer.batch.job((1, "sha1-a", 1000, 16, "", None, 1.5, 1))
    writer.batch.event(1, 0, "[0]")
    server_bench.settle(writer)
    return writer


def scalar(bench: ServerBench, writer: StoreWriter, statement: str) -> Any:
    return bench.ask(writer, lambda connection: connection.exec_driver_sql(statement).scalar())


# -- settings of the session ----------------------------------------------------------------------------------


def test_commits_are_synchronous_whatever_the_role_was_given(server_bench: ServerBench) -> None:
    server_bench.server.execute("ALTER ROLE owner SET synchronous_commit = off")
    server_bench.server.execute("ALTER ROLE owner SET statement_timeout = '20s'")
    try:
        writer = server_bench.writer()
        assert scalar(server_bench, writer, "SHOW synchronous_commit") == "on"
        assert scalar(server_bench, writer, "SHOW statement_timeout") == "0"
    finally:
        server_bench.server.execute("ALTER ROLE owner RESET ALL")


def test_server_that_does_not_sync_is_warned_of(server_bench: ServerBench, caplog: pytest.LogCaptureFixture) -> None:
    server_bench.ask(server_bench.writer(), load)
    assert "runs with fsync off" in caplog.text


# -- one writer -----------------------------------------------------------------------------------------------


def test_second_writer_is_refused_after_a_while_and_told_who_has_the_store(
    server_bench: ServerBench, add_job: AddJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fluxlike_broker.store.postgresql.CLAIM_WAIT", 1.0)
    first = server_bench.writer()
    add_job(first.batch, 1)
    server_bench.settle(first)
    answer = server_bench.ask(server_bench.writer(retry=3600.0), load)
    assert isinstance(answer, StoreInUse)
    assert f"the store is in use by fluxlike process {os.getpid()} on " in str(answer)


def test_store_of_another_schema_is_another_store(server_bench: ServerBench) -> None:
    other = server_bench.server.new_schema()
    writers = [server_bench.writer(), server_bench.writer(url=server_bench.server.url(other))]
    for writer in writers:
        writer.batch.put("mine", str(id(writer)))
        server_bench.settle(writer)
    assert [server_bench.ask(writer, load).state["mine"] for writer in writers] == [str(id(w)) for w in writers]
    writers[1].close(10.0)
    server_bench.server.execute(f"DROP SCHEMA {other} CASCADE")


HOLDING = """
import sys, queue
from fluxlike_broker.store.writer import StoreWriter
inbox = queue.SimpleQueue()
writer = StoreWriter(sys.argv[1], True, inbox.put, print, print)
writer.batch.put("a", "b")
writer.batch.after_commit(lambda: print("held", flush=True))
writer.flush()
inbox.get()()
inbox.get()
"""


def test_store_of_a_killed_writer_is_free_within_the_wait(server_bench: ServerBench) -> None:
    command = [sys.executable, "-c", HOLDING, server_bench.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        os.kill(child.pid, signal.SIGKILL)
        assert server_bench.ask(server_bench.writer(), load).state == {"a": "b"}
    assert server_bench.failures == []


def test_writer_whose_store_was_taken_over_never_writes_again(
    server_bench: ServerBench, by_wire: StoreWriter, wire: Wire, add_job: AddJob
) -> None:
    wire.down = True
    wire.hang_up()
    second = server_bench.writer()
    add_job(second.batch, 2)
    server_bench.settle(second)
    second.close(10.0)
    wire.down = False
    add_job(by_wire.batch, 3)
    by_wire.flush()
    server_bench.run_until(lambda: server_bench.failures)
    assert "another broker has taken over the store" in server_bench.failures[0][1]
    assert isinstance(server_bench.ask(by_wire, load), StoreUnavailable)
    assert server_bench.look("SELECT id FROM jobs ORDER BY id") == [(1,), (2,)]


def test_server_that_comes_back_with_less_is_not_written_to(
    server_bench: ServerBench, by_wire: StoreWriter, wire: Wire, add_job: AddJob
) -> None:
    [(mark,)] = server_bench.look("SELECT value FROM state WHERE key = 'store.writer'")
    for job in (2, 3):
        add_job(by_wire.batch, job)
        server_bench.settle(by_wire)
    back = f"UPDATE state SET value = '{mark}' WHERE key = 'store.writer'"
    server_bench.server.execute(back, server_bench.schema)
    wire.hang_up()
    add_job(by_wire.batch, 4)
    by_wire.flush()
    server_bench.run_until(lambda: server_bench.failures)
    assert "lost rows that were committed" in server_bench.failures[0][1]


# -- a server that goes away ----------------------------------------------------------------------------------


def test_lost_server_is_an_outage_that_ends_by_itself(server_bench: ServerBench, add_job: AddJob) -> None:
    writer = server_bench.writer()
    add_job(writer.batch, 1)
    server_bench.settle(writer)
    server_bench.server.stop(signal.SIGQUIT)
    try:
        add_job(writer.batch, 2)
        writer.flush()
        server_bench.run_until(lambda: server_bench.failures)
        assert "connection" in (writer.failure or "")
        assert str(server_bench.server.folder) in (writer.failure or "")
        assert isinstance(server_bench.ask(writer, load), StoreUnavailable)
    finally:
        server_bench.server.start()
    server_bench.run_until(lambda: server_bench.recoveries)
    assert [row.id for row in server_bench.ask(writer, load).active] == [1, 2]


def test_locked_table_is_an_outage_and_not_a_hanging_broker(server_bench: ServerBench, add_job: AddJob) -> None:
    writer = server_bench.writer()
    add_job(writer.batch, 1)
    server_bench.settle(writer)
    with server_bench.server.connect(server_bench.schema) as other, other.transaction():
        other.execute("LOCK TABLE jobs")
        add_job(writer.batch, 2)
        writer.flush()
        server_bench.run_until(lambda: server_bench.failures)
        assert "lock timeout" in server_bench.failures[0][1]
    server_bench.run_until(lambda: server_bench.recoveries)
    assert server_bench.look("SELECT id FROM jobs ORDER BY id") == [(1,), (2,)]


def test_connection_that_was_cut_while_idle_is_no_outage(
    server_bench: ServerBench, by_wire: StoreWriter, wire: Wire, add_job: AddJob
) -> None:
    for job in (2, 3):
        wire.hang_up()
        add_job(by_wire.batch, job)
        server_bench.settle(by_wire)
        wire.hang_up()
        assert len(server_bench.ask(by_wire, load).active) == job
    assert server_bench.failures == []


@pytest.mark.parametrize("lost", ["question", "answer"])
@pytest.mark.parametrize("stays_away", [False, True])
def test_commit_whose_answer_is_lost_happens_exactly_once(
    server_bench: ServerBench, by_wire: StoreWriter, wire: Wire, add_job: AddJob, lost: str, stays_away: bool
) -> None:
    """New jobs of such a batch are neither refused nor acknowledged until it is known what became of them."""
    server_bench.refuse_new_jobs = True
    acknowledged: list[int] = []
    for job in range(2, 30):
        add_job(by_wire.batch, job)
        by_wire.batch.after_commit(partial(acknowledged.append, job))
    wire.cut = lost
    wire.down = stays_away
    by_wire.flush()
    if stays_away:
        server_bench.run_until(lambda: server_bench.failures)
        assert acknowledged == []
        assert not by_wire.settled
        by_wire.batch.event(1, 1, "[1]")  # what happens meanwhile comes after it
        by_wire.flush()
        wire.down = False
        server_bench.run_until(lambda: server_bench.recoveries)
    server_bench.settle(by_wire)
    assert wire.cuts == 1
    assert acknowledged == list(range(2, 30))
    assert server_bench.refused == set()
    assert server_bench.look("SELECT id FROM jobs ORDER BY id") == [(job,) for job in range(1, 30)]
    assert by_wire.settled


def test_close_does_not_claim_what_is_in_doubt(
    server_bench: ServerBench, by_wire: StoreWriter, wire: Wire, add_job: AddJob
) -> None:
    add_job(by_wire.batch, 2)
    wire.cut, wire.down = "answer", True
    by_wire.flush()
    server_bench.run_until(lambda: server_bench.failures)
    with pytest.raises(StoreUnavailable, match="not known to be on disk"):
        by_wire.close(0.3)


# -- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["authority", "query"])
def test_password_is_in_no_message(server_bench: ServerBench, caplog: pytest.LogCaptureFixture, place: str) -> None:
    secret = "hunter2hunter2"
    host = "host=/nonexistent"
    given = {
        "authority": f"postgresql://owner:{secret}@/postgres?{host}",
        "query": f"postgresql://owner@/postgres?{host}&password={secret}",
    }
    answer = server_bench.ask(server_bench.writer(url=given[place], retry=3600.0), load)
    assert isinstance(answer, StoreUnavailable)
    assert "postgresql://owner@/nonexistent/postgres: " in str(answer)
    for said in (str(answer), caplog.text, *(reason for _, reason in server_bench.failures)):
        assert secret not in said


@pytest.mark.parametrize("url", ["postgresql://me:hunter2@db/jobs", "postgresql://me@db/jobs?password=hunter2"])
def test_password_is_cut_out_of_what_a_driver_says(url: str) -> None:
    said = open_database(url, durable=True).reason(RuntimeError("cannot use\n  'hunter2'"))
    assert said == "postgresql://me@db/jobs: cannot use; '***'"


def test_missing_driver_is_answered_with_the_command_that_installs_it(
    server_bench: ServerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    answer = server_bench.ask(server_bench.writer(retry=3600.0), load)
    assert isinstance(answer, ConfigError)
    assert str(answer).endswith("pip install 'psycopg[binary]'")


def test_schema_that_does_not_exist_is_named_as_the_reason(server_bench: ServerBench) -> None:
    writer = server_bench.writer(url=server_bench.server.url("nowhere"), retry=3600.0)
    assert "search_path" in str(server_bench.ask(writer, load))


def test_tables_of_others_are_left_alone(server_bench: ServerBench) -> None:
    server_bench.server.execute("CREATE TABLE jobs (precious text)", server_bench.schema)
    answer = server_bench.ask(server_bench.writer(retry=3600.0), load)
    assert isinstance(answer, StoreUnavailable)
    assert 'relation "jobs" already exists' in str(answer)
    found = f"SELECT tablename FROM pg_tables WHERE schemaname = '{server_bench.schema}'"
    assert server_bench.look(found) == [("jobs",)]
