from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from fluxlike.errors import ConfigError, StoreUnavailable
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.writer import StoreWriter

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench

AddJob = Callable[..., None]


@pytest.mark.parametrize("durable", [True, False])
def test_callbacks_run_only_after_their_own_rows_are_on_disk(bench: Bench, add_job: AddJob, durable: bool) -> None:
    writer = bench.writer(durable=durable)
    bench.settle(writer)
    on_disk: dict[int, int] = {}

    def acknowledge(job: int) -> None:
        rows = bench.look("SELECT count(*) FROM events JOIN jobs ON jobs.id = job WHERE job = ?", job)
        on_disk[job] = rows[0][0]

    for job in range(3000):  # the loop never waits for the disk, so batches overlap and grow
        add_job(writer.batch, job)
        writer.batch.after_commit(partial(acknowledge, job))
        if job % 7 == 0:
            writer.flush()
        if job % 5 == 0:  # out of step with the flushes: results also arrive while a batch is half filled
            bench.turn()
    bench.settle(writer)

    assert on_disk == dict.fromkeys(range(3000), 8)
    assert list(on_disk) == list(range(3000))


def test_batch_given_while_another_is_written_follows_without_a_further_flush(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    acknowledged: list[int] = []
    for job in range(3):
        add_job(writer.batch, job)
        writer.batch.after_commit(partial(acknowledged.append, job))
        writer.flush()
    bench.run_until(lambda: acknowledged == [0, 1, 2])


def test_rows_that_still_gather_are_not_acknowledged_with_the_batch_before_them(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    acknowledged: list[int] = []
    for job in (1, 2):
        add_job(writer.batch, job)
        writer.batch.after_commit(partial(acknowledged.append, job))
        if job == 1:
            writer.flush()
    bench.run_until(lambda: acknowledged)
    assert acknowledged == [1]
    assert bench.look("SELECT id FROM jobs") == [(1,)]
    writer.flush()
    bench.run_until(lambda: acknowledged == [1, 2])


def test_callback_without_rows_waits_for_the_rows_given_before_it(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    order: list[str] = []
    add_job(writer.batch, 1)
    writer.batch.after_commit(lambda: order.append("rows"))
    writer.flush()
    writer.batch.after_commit(lambda: order.append("nothing"))
    writer.flush()
    bench.run_until(lambda: order == ["rows", "nothing"])


def test_failing_callback_does_not_cost_the_others_their_answer(
    bench: Bench, add_job: AddJob, caplog: pytest.LogCaptureFixture
) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    seen: list[bool] = []
    writer.batch.after_commit(lambda: 1 / 0)  # type: ignore[arg-type]  # it never returns
    writer.batch.after_commit(lambda: seen.append(True))
    writer.flush()
    bench.run_until(lambda: seen)
    assert "ZeroDivisionError" in caplog.text


def test_every_kind_of_row_arrives_and_the_last_value_wins(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    for number in (1, 2):
        writer.batch.spec("sha1-a", b"{}")
        writer.batch.allocation(7, f"R{number}")
        writer.batch.put("key", f"value{number}")
        if number == 1:
            add_job(writer.batch, 7, events=2)
        writer.batch.done(7, f"summary{number}".encode())
        bench.settle(writer)

    assert bench.look("SELECT * FROM specs") == [("sha1-a", b"{}")]
    job = (7, "sha1-a", 1000, 16, "", None, 1.5, 1, b"summary2")
    assert bench.look("SELECT * FROM jobs") == [job]
    events = [(7, 0, 1.5, "submit", '{"a":1}'), (7, 1, 2.5, "event1", None)]
    assert bench.look("SELECT * FROM events ORDER BY seq") == events
    assert bench.look("SELECT * FROM allocations") == [(7, "R2")]
    assert bench.look("SELECT value FROM state WHERE key = 'key'") == [("value2",)]


def test_done_leaves_the_other_columns_of_the_job_alone(bench: Bench) -> None:
    writer = bench.writer()
    writer.batch.job(5, "sha1-a", 1000, 31, "waitable", '{"cc":"3"}', 2.5)
    bench.settle(writer)
    writer.batch.done(5, b"s")
    writer.batch.done(6, b"nobody knows this job")
    bench.settle(writer)
    job = (5, "sha1-a", 1000, 31, "waitable", '{"cc":"3"}', 2.5, 1, b"s")
    assert bench.look("SELECT * FROM jobs") == [job]


@pytest.mark.parametrize("count", [1, 141, 142, 143, 199, 200, 499, 500, 2000])
def test_batches_of_any_size_are_written_whole(bench: Bench, add_job: AddJob, count: int) -> None:
    writer = bench.writer()
    for job in range(count):
        add_job(writer.batch, job, events=1)
        writer.batch.spec(f"sha1-{job}", b"{}")
        writer.batch.allocation(job, "R")
        writer.batch.done(job, b"s")
        writer.batch.put(f"key{job}", "v")
    bench.settle(writer)
    for table in ("events", "jobs WHERE done = 1", "allocations", "state WHERE key LIKE 'key%'"):
        assert bench.look(f"SELECT count(*) FROM {table}") == [(count,)]
    assert bench.look("SELECT count(*) FROM specs WHERE digest <> 'sha1-a'") == [(count,)]


def test_query_sees_everything_given_before_it(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    answers: list[Any] = []
    for job in range(50):
        add_job(writer.batch, job)
        writer.query(lambda c: c.exec_driver_sql("SELECT count(*) FROM jobs").scalar(), answers.append)
    bench.run_until(lambda: len(answers) == 50)
    assert all(seen >= given for given, seen in enumerate(answers, start=1))


def test_query_that_raises_gives_the_error_to_its_callback_and_harms_nothing(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    assert isinstance(bench.ask(writer, lambda _: os.stat("/nowhere")), FileNotFoundError)
    assert "no such table" in str(bench.ask(writer, lambda c: c.exec_driver_sql("SELECT * FROM nowhere")))
    add_job(writer.batch, 1)
    bench.settle(writer)
    assert bench.failures == []


def test_close_writes_what_was_never_flushed_and_runs_its_callbacks(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(durable=True)
    seen: list[int] = []
    for job in range(500):
        add_job(writer.batch, job)
        writer.batch.after_commit(partial(seen.append, job))
        if job == 100:
            writer.flush()
    writer.close(30.0)
    assert seen == list(range(500))
    assert bench.look("SELECT count(*) FROM events") == [(4000,)]
    assert not os.path.exists(f"{bench.path}-wal"), "the last connection is closed and the log folded in"


def test_close_writes_what_callbacks_add_while_it_closes(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    writer.batch.after_commit(lambda: add_job(writer.batch, 2))
    writer.close(30.0)
    assert bench.look("SELECT id FROM jobs ORDER BY id") == [(1,), (2,)]


def test_close_twice_is_harmless(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    writer.close(30.0)
    writer.close(30.0)
    assert bench.look("SELECT id FROM jobs") == [(1,)]


def test_store_outlives_a_loop_that_is_closed_already(bench: Bench, add_job: AddJob) -> None:
    def closed(_: Callable[[], None]) -> None:
        raise RuntimeError("Event loop is closed")

    writer = StoreWriter(bench.url, False, closed, lambda batch, reason: None, lambda: None)
    seen: list[bool] = []
    add_job(writer.batch, 1)
    writer.batch.after_commit(lambda: seen.append(True))
    writer.flush()
    writer.close(30.0)
    assert seen == [True]
    assert bench.look("SELECT id FROM jobs") == [(1,)]


def test_store_that_nothing_was_given_to_leaves_no_file(bench: Bench) -> None:
    bench.writer().abandon()
    bench.writer().close(30.0)
    assert os.listdir(bench.path.parent) == []


def test_appending_after_close_is_never_acknowledged(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    writer.close(30.0)
    add_job(writer.batch, 2)
    writer.batch.after_commit(lambda: pytest.fail("acknowledged"))
    writer.flush()
    bench.turn()
    assert bench.look("SELECT id FROM jobs") == [(1,)]


@pytest.mark.parametrize("url", ["postgresql://user:secret@host/db", "nonsense", "sqlite://", "sqlite:///:memory:"])
def test_url_that_names_no_usable_database_is_an_error_that_says_so(url: str) -> None:
    done: list[Any] = []
    failures: list[str] = []

    def failed(_: Batch, reason: str) -> None:
        failures.append(reason)

    writer = StoreWriter(url, True, lambda _: None, failed, lambda: None)
    writer.query(lambda connection: None, done.append)
    writer.close(30.0)
    assert isinstance(done[0], ConfigError)
    assert len(failures) == 1
    assert "secret" not in failures[0]


PRELUDE = """
import sys, threading
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.load import load
from fluxlike_broker.store.writer import StoreWriter
"""

STALLED = """
reached, never = threading.Event(), threading.Event()
class Stall:
    def find_spec(self, name, path=None, target=None):
        if name == "sqlalchemy":
            reached.set()
            never.wait()
sys.meta_path.insert(0, Stall())
writer = StoreWriter("sqlite:///" + sys.argv[1], True, lambda f: f(), print, print)
writer.warm_up()
assert reached.wait(30)
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_importing_the_store_does_not_import_sqlalchemy() -> None:
    done = run("assert 'sqlalchemy' not in sys.modules, 'imported'")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("end", ["abandon()", "close(60)"])
def test_unused_store_ends_at_once_while_sqlalchemy_is_still_importing(bench: Bench, end: str) -> None:
    done = run(STALLED + f"writer.{end}; print('ended')", str(bench.path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    assert os.listdir(bench.path.parent) == []


def test_close_gives_up_at_its_timeout_when_the_thread_hangs(bench: Bench) -> None:
    script = STALLED + "writer.batch.put('a', 'b')\nwriter.close(0.2)"
    done = run(script, str(bench.path))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("closed with rows not known to be on disk: timed out")


def test_abandon_does_not_wait_for_the_disk(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(durable=True)
    for job in range(20_000):
        add_job(writer.batch, job)
    writer.flush()
    began = monotonic()
    writer.abandon()
    assert monotonic() - began < 0.1


def test_close_reports_rows_that_are_not_on_disk(bench: Bench, add_job: AddJob) -> None:
    os.rmdir(bench.path.parent)
    writer = bench.writer()
    add_job(writer.batch, 1)
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        writer.close(0.3)
