"""A store whose commits happen when the scenario says so. Its rows are real: the same statements, in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import create_engine, select
from sqlalchemy.engine import Connection
from sqlalchemy.pool import StaticPool

from fluxlike.errors import StoreUnavailable
from fluxlike.job.eventlog import parse
from fluxlike.job.job import Event
from fluxlike_broker.store import schema
from fluxlike_broker.store.batch import Batch, EndTuple, JobTuple
from fluxlike_broker.store.commit import write_rows
from fluxlike_broker.store.history import log_of
from fluxlike_broker.store.load import Loaded, load
from scenario_stage.tape import Tape

_TOLD_ELSEWHERE = ("userid", "version")


class Disk:
    """What survives a crash."""

    def __init__(self) -> None:
        self._engine = create_engine("sqlite://", poolclass=StaticPool)
        self.connection: Connection = self._engine.connect()
        schema.create(self.connection)
        self.connection.commit()
        self.broken: str | None = None

    def commit(self, batch: Batch) -> None:
        if self.broken is not None:
            raise StoreUnavailable(self.broken)
        write_rows(self.connection, batch)
        self.connection.connection.commit()  # on the driver, as the rows: SQLAlchemy knows nothing of them

    def load(self) -> Loaded:
        found = load(self.connection)
        self.connection.rollback()
        return found

    def events(self, job_id: int) -> list[Event]:
        found = parse(log_of(self.connection, job_id))
        self.connection.rollback()
        return found

    def ended(self) -> dict[int, tuple[float, str]]:
        """(time of the end, result) of every inactive job."""
        columns = schema.history.c
        rows = self.connection.execute(select(columns.id, columns.ended, columns.result))
        found = {job_id: (when, result) for job_id, when, result in rows}
        self.connection.rollback()
        return found

    def has(self, job_id: int, event: str) -> bool:
        return any(name == event for _, name, _ in self.events(job_id))

    def close(self) -> None:
        self.connection.close()
        self._engine.dispose()


class TapedBatch(Batch):
    """Tells what is put into it."""

    __slots__ = ("_tape",)

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._tape = tape

    def job(self, row: JobTuple) -> None:
        self._tape.meet(row[0])
        self._tape.meet_tasks(row[0], row[7])
        super().job(row)

    def event(self, job: int, seq: int, lines: str) -> None:
        for _, name, context in parse([lines]):
            values = context or {}
            shown = {key: value for key, value in values.items() if key not in _TOLD_ELSEWHERE and value != []}
            self._tape.write(f"store {self._tape.called(job)} {name}{self._tape.pairs(shown)}")
        super().event(job, seq, lines)

    def allocation(self, job: int, r: str) -> None:
        execution = json.loads(r)["execution"]
        parts = [f"rank{row['rank']}/core{row['children']['core']}" for row in execution["R_lite"]]
        self._tape.write(f"store {self._tape.called(job)} R {' '.join(parts)}")
        super().allocation(job, r)

    def end(self, job: int, row: EndTuple) -> None:
        self._tape.write(f"store {self._tape.called(job)} summary")
        super().end(job, row)

    def key(self, key: str, first: int, count: int, submitted: float) -> None:
        self._tape.write(f"store key {key} count={count}")
        super().key(key, first, count, submitted)

    def put(self, key: str, value: str) -> None:
        self._tape.write(f"store {key}={self._tape.value(value)}")
        super().put(key, value)


Query = tuple[Callable[[Connection], Any], Callable[[Any], None]]


class HandStore:
    """As StoreWriter, but `work` is the thread: it commits what was handed over when it is called."""

    def __init__(self, disk: Disk, tape: Tape) -> None:
        self._disk = disk
        self._tape = tape
        self.batch: Batch = TapedBatch(tape)
        self.failure: str | None = None
        self.on_failure: Callable[[Batch, str], None] = lambda batch, reason: None
        self.on_recovered: Callable[[], None] = lambda: None
        self._queries: list[Query] = []
        self._flying: tuple[Batch, list[Query]] | None = None
        self._wanted = False

    @property
    def settled(self) -> bool:
        return self._flying is None and not self.batch

    @property
    def busy(self) -> bool:
        return self._flying is not None

    def uncommitted(self, job_id: int) -> list[Event]:
        """Of a job's log, what the disk has not got yet."""
        batches = [] if self._flying is None else [self._flying[0]]
        return [event for batch in (*batches, self.batch) for event in parse(batch.logs.get(job_id, (0, ()))[1])]

    def flush(self) -> None:
        if self.busy:
            self._wanted = True
        elif self.batch or self._queries:
            self._hand_over()

    def query(self, function: Callable[[Connection], Any], callback: Callable[[Any], None]) -> None:
        self._queries.append((function, callback))
        self.flush()

    def retry(self) -> None:
        """What the thread asks for once a second while the store fails."""
        if self.failure is not None and not self.busy:
            self._hand_over()

    def _hand_over(self) -> None:
        self._flying = (self.batch, self._queries)
        self.batch, self._queries = TapedBatch(self._tape), []
        self._wanted = False

    def work(self) -> None:
        assert self._flying is not None, "nothing was handed to the store"
        (batch, queries), self._flying = self._flying, None
        try:
            self._disk.commit(batch)
        except StoreUnavailable as error:
            self._failed(batch, queries, str(error))
        else:
            self._committed(batch, queries)

    def _committed(self, batch: Batch, queries: list[Query]) -> None:
        if batch.rows:
            self._tape.write("commit")
        recovered, self.failure = self.failure is not None, None
        answers = [(callback, function(self._disk.connection)) for function, callback in queries]
        self._disk.connection.rollback()
        if self._wanted or self._queries:
            self.flush()
        for done in batch.callbacks:
            done()
        for callback, answer in answers:
            callback(answer)
        if recovered:
            self.on_recovered()

    def _failed(self, batch: Batch, queries: list[Query], reason: str) -> None:
        self._tape.write(f"commit fails: {reason}")
        batch.extend(self.batch)
        self.batch, self._wanted = batch, False
        known, self.failure = self.failure is not None, reason
        if not known:
            self.on_failure(batch, reason)
        for _, callback in queries:
            callback(StoreUnavailable(reason))
        if self._queries and not self.busy:
            self._hand_over()
