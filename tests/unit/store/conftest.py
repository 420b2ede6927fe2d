"""A store in a file or on a server, and a hand-cranked loop to go with it."""

from __future__ import annotations

import queue
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest

from fluxlike.errors import StoreUnavailable
from fluxlike.job.eventlog import line
from fluxlike.testing.postgresql import PostgresqlServer
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.writer import StoreWriter

PATIENCE = 30.0


class Bench:
    """Writers of one store, the loop that their callbacks run in, and a second pair of eyes on the database."""

    url = ""

    def __init__(self) -> None:
        self.failures: list[tuple[Batch, str]] = []
        self.recoveries = 0
        self.posted = 0
        self.refuse_new_jobs = False
        self.refused: set[int] = set()
        self._inbox: queue.Queue[Callable[[], None]] = queue.Queue()
        self._writers: list[StoreWriter] = []

    def writer(self, *, durable: bool = False, retry: float = 0.05, url: str = "") -> StoreWriter:
        made = StoreWriter(url or self.url, durable, self._inbox.put, self._failed, self._recovered, retry=retry)
        self._writers.append(made)
        return made

    def turn(self) -> None:
        """Run what is waiting, without waiting for more."""
        with suppress(queue.Empty):
            while True:
                self._inbox.get_nowait()()

    def run_until(self, condition: Callable[[], object]) -> None:
        deadline = monotonic() + PATIENCE
        while not condition():
            try:
                callback = self._inbox.get(timeout=max(0.0, deadline - monotonic()))
            except queue.Empty:
                pytest.fail(f"waited in vain; failures {[reason for _, reason in self.failures]}")
            self.posted += 1
            callback()

    def settle(self, writer: StoreWriter) -> None:
        """Flush, and run until all that was given is on disk."""
        seen: list[bool] = []
        writer.batch.after_commit(lambda: seen.append(True))
        writer.flush()
        self.run_until(lambda: seen)

    def ask(self, writer: StoreWriter, function: Callable[[Any], Any]) -> Any:
        answers: list[Any] = []
        writer.query(function, answers.append)
        self.run_until(lambda: answers)
        return answers[0]

    def look(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """What another process would see in the database at this moment."""
        raise NotImplementedError

    def end(self) -> None:
        for writer in self._writers:
            with suppress(StoreUnavailable):
                writer.close(0.5)

    def _failed(self, batch: Batch, reason: str) -> None:
        self.failures.append((batch, reason))
        if self.refuse_new_jobs:
            self.refused |= batch.job_ids()
            batch.without_jobs(batch.job_ids())

    def _recovered(self) -> None:
        self.recoveries += 1


class FileBench(Bench):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.url = f"sqlite:///{path}"

    def look(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as reader:
            return reader.execute(sql, parameters).fetchall()


class ServerBench(Bench):
    def __init__(self, server: PostgresqlServer) -> None:
        super().__init__()
        self.server = server
        self.schema = server.new_schema()
        self.url = server.url(self.schema)
        self._eyes: psycopg.Connection[tuple[Any, ...]] | None = None

    def look(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        if self._eyes is None or self._eyes.closed:
            self._eyes = self.server.connect(self.schema)
        query = sql.replace("?", "%s") if parameters else sql
        return self._eyes.execute(query.encode(), parameters or None).fetchall()

    def end(self) -> None:
        super().end()
        if self._eyes is not None:
            self._eyes.close()


@pytest.fixture
def file_bench(tmp_path: Path) -> Iterator[FileBench]:
    """For what only a file can do."""
    (tmp_path / "state").mkdir()
    made = FileBench(tmp_path / "state" / "store.sqlite")
    yield made
    made.end()


@pytest.fixture
def server_bench(postgresql: PostgresqlServer) -> Iterator[ServerBench]:
    """For what only a server can do."""
    made = ServerBench(postgresql)
    yield made
    made.end()
    postgresql.execute(f"DROP SCHEMA {made.schema} CASCADE")


@pytest.fixture(params=["file_bench", "server_bench"], ids=["sqlite", "postgresql"])
def bench(request: pytest.FixtureRequest) -> Bench:
    """For what every store does."""
    made = request.getfixturevalue(request.param)
    assert isinstance(made, Bench)
    return made


def log_part(job: int, first: int, count: int) -> str:
    """Events `first` and on, each of which says whose it is and the how manieth."""
    return ",".join(line(1.5 + seq, f"event{seq}", {"job": job, "seq": seq}) for seq in range(first, first + count))


def add_job(batch: Batch, job: int, events: int = 8, *, digest: str = "sha1-a") -> None:
    batch.spec(digest, b"{}")
    batch.job((job, digest, 1000, 16, "", None, 1.5, 0))
    batch.event(job, 0, log_part(job, 0, events))


def end_job(
    batch: Batch, job: int, ended: float = 9.0, *, seq: int = 8, result: str = "COMPLETED", **more: Any
) -> None:
    batch.event(job, seq, log_part(job, seq, 2))
    who = (more.get("userid", 1000), more.get("name", "true"), more.get("tasks", 0))
    batch.end(job, (ended, result, *who, f"summary{job}".encode()))


@pytest.fixture(name="add_job")
def _add_job() -> Callable[..., None]:
    return add_job


@pytest.fixture(name="end_job")
def _end_job() -> Callable[..., None]:
    return end_job


@pytest.fixture(name="log_part")
def _log_part() -> Callable[..., str]:
    return log_part
