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
from fluxlike.job.eventlog import parse
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.writer import StoreWriter

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench, FileBench

AddJob = Callable[..., None]


@pytest.mark.parametrize("durable", [True, False])
def test_callbacks_run_only_after_their_own_rows_are_on_disk(bench: Bench, add_job: AddJob, durable: bool) -> None:
    writer = bench.writer(durable=durable)
    bench.settle(writer)
    on_disk: dict[int, int] = {}

    def acknowledge(job: int) -> None:
        [(log,)] = bench.look("SELECT log FROM jobs WHERE id = ?", job)
        on_disk[job] = len(parse([log]))

    for job in range(1500):  # the loop never waits for the disk, so batches overlap and grow
        add_job(writer.batch, job)
        writer.batch.after_commit(partial(acknowledge, job))
        if job % 7 == 0:
            writer.flush()
        if job % 5 == 0:  # out of step with the flushes: results also arrive while a batch is half filled
            bench.turn()
    bench.settle(writer)

    assert on_disk == dict.fromkeys(range(1500), 8)
    assert list(on_disk) == list(range(1500))


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
        writer.batch.put("key", f"value{number}")
        if number == 1:
            add_job(writer.batch, 7, events=2)
            writer.batch.key("once", 7, 1, 1.5)
        bench.settle(writer)
    log = bench.look("SELECT log FROM jobs")[0][0]
    for number in (1, 2):
        writer.batch.event(7, 1 + number, f"[{number}]")
        writer.batch.allocation(7, f"R{number}")
        writer.batch.end(7, (4.5, f"RESULT{number}", 1000, "true", 0, b"summary"))
    bench.settle(writer)

    assert bench.look("SELECT * FROM specs") == [("sha1-a", b"{}")]
    assert bench.look("SELECT * FROM jobs") == [(7, "sha1-a", 1000, 16, "", None, 1.5, 0, log)]
    assert bench.look("SELECT * FROM segments") == [(7, 2, "[1],[2]", "R2")]
    assert bench.look("SELECT * FROM history") == [(7, 4.5, "RESULT2", 1000, "true", 0, b"summary", "")]
    assert bench.look("SELECT * FROM submissions") == [("once", 7, 1, 1.5)]
    assert bench.look("SELECT value FROM state WHERE key = 'key'") == [("value2",)]


def test_last_part_of_a_log_goes_with_the_end(bench: Bench, add_job: AddJob, end_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 7, events=8)
    bench.settle(writer)
    end_job(writer.batch, 7)
    bench.settle(writer)
    [(log,)] = bench.look("SELECT log FROM history")
    assert [name for _, name, _ in parse([log])] == ["event8", "event9"]
    assert bench.look("SELECT * FROM segments") == []


@pytest.mark.parametrize("count", [1, 4, 5, 111, 112, 142, 249, 250, 499, 500, 2000])
def test_batches_of_any_size_are_written_whole(bench: Bench, add_job: AddJob, end_job: AddJob, count: int) -> None:
    writer = bench.writer()
    for job in range(count):
        add_job(writer.batch, job, digest=f"sha1-{job}")
        writer.batch.allocation(job, "R")
        writer.batch.key(f"key{job}", job, 1, 1.0)
        writer.batch.put(f"key{job}", "v")
    bench.settle(writer)
    for job in range(count):
        end_job(writer.batch, job)
    bench.settle(writer)
    tables = ("specs", "jobs", "segments", "history", "submissions", "state WHERE key LIKE 'key%'")
    assert [bench.look(f"SELECT count(*) FROM {table}") for table in tables] == [[(count,)]] * len(tables)


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
    answer = str(bench.ask(writer, lambda c: c.exec_driver_sql("SELECT * FROM nowhere")))
    assert "no such table" in answer or 'relation "nowhere" does not exist' in answer
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
    assert bench.look("SELECT count(*) FROM jobs") == [(500,)]


def test_close_folds_the_log_into_the_file(file_bench: FileBench, add_job: AddJob) -> None:
    writer = file_bench.writer(durable=True)
    add_job(writer.batch, 1)
    bench_files = file_bench.path.parent
    file_bench.settle(writer)
    assert "store.sqlite-wal" in os.listdir(bench_files)
    writer.close(30.0)
    assert sorted(os.listdir(bench_files)) == ["store.sqlite", "store.sqlite.lock"]


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


def test_store_that_nothing_was_given_to_leaves_no_file(file_bench: FileBench) -> None:
    file_bench.writer().abandon()
    file_bench.writer().close(30.0)
    assert os.listdir(file_bench.path.parent) == []


def test_appending_after_close_is_never_acknowledged(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1)
    writer.close(30.0)
    add_job(writer.batch, 2)
    writer.batch.after_commit(lambda: pytest.fail("acknowledged"))
    writer.flush()
    bench.turn()
    assert bench.look("SELECT id FROM jobs") == [(1,)]


@pytest.mark.parametrize(
    "url",
    [
        "mysql://user:secret@host/db",
        "postgresql+asyncpg://user:secret@host/db",
        "postgresql://u:12@secret@host/db",
        "postgresql://u:secret@host:port/db",
        "nonsense",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
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
def test_unused_store_ends_at_once_while_sqlalchemy_is_still_importing(file_bench: FileBench, end: str) -> None:
    done = run(STALLED + f"writer.{end}; print('ended')", str(file_bench.path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    assert os.listdir(file_bench.path.parent) == []


def test_close_gives_up_at_its_timeout_when_the_thread_hangs(file_bench: FileBench) -> None:
    script = STALLED + "writer.batch.put('a', 'b')\nwriter.close(0.2)"
    done = run(script, str(file_bench.path))
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


def test_close_reports_rows_that_are_not_on_disk(file_bench: FileBench, add_job: AddJob) -> None:
    os.rmdir(file_bench.path.parent)
    writer = file_bench.writer()
    add_job(writer.batch, 1)
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        writer.close(0.3)
