"""A store in a file and a hand-cranked loop to go with it."""

from __future__ import annotations

import queue
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from fluxlike.errors import StoreUnavailable
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.writer import StoreWriter

PATIENCE = 30.0


class Bench:
    """One writer, the loop that its callbacks run in, and a second pair of eyes on the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failures: list[tuple[Batch, str]] = []
        self.recoveries = 0
        self.posted = 0
        self.refuse_new_jobs = False
        self._inbox: queue.Queue[Callable[[], None]] = queue.Queue()
        self._writers: list[StoreWriter] = []

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def writer(self, *, durable: bool = False, retry: float = 0.05) -> StoreWriter:
        made = StoreWriter(self.url, durable, self._inbox.put, self._failed, self._recovered, retry=retry)
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
        """What another process would see in the file at this moment."""
        with closing(sqlite3.connect(self.path)) as reader:
            return reader.execute(sql, parameters).fetchall()

    def end(self) -> None:
        for writer in self._writers:
            with suppress(StoreUnavailable):
                writer.close(0.5)

    def _failed(self, batch: Batch, reason: str) -> None:
        self.failures.append((batch, reason))
        if self.refuse_new_jobs:
            batch.without_jobs(batch.job_ids())

    def _recovered(self) -> None:
        self.recoveries += 1


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "state").mkdir()
    made = Bench(tmp_path / "state" / "store.sqlite")
    yield made
    made.end()


def add_job(batch: Batch, job: int, events: int = 8) -> None:
    batch.spec("sha1-a", b"{}")
    batch.job(job, "sha1-a", 1000, 16, "", None, 1.5)
    for seq in range(events):
        batch.event(job, seq, 1.5 + seq, "submit" if seq == 0 else f"event{seq}", None if seq else '{"a":1}')


@pytest.fixture(name="add_job")
def _add_job() -> Callable[..., None]:
    return add_job
