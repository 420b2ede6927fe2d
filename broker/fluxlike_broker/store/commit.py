"""A batch as one transaction, in as few statements as the database takes.

SQLAlchemy's own insert costs three times as much per row, and `executemany` gives the interpreter lock away
once per row, which starves this thread beside a busy loop. So: many rows per VALUES, on the driver's cursor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from sqlalchemy import Table
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPICursor

from fluxlike_broker.store import schema
from fluxlike_broker.store.batch import Batch

PARAMETERS = 999
"""Parameters in one statement: the least that any SQLite allows by default; twice as many gain nothing."""

_MARKS = {"qmark": "?", "format": "%s", "pyformat": "%s"}


def _insert(table: Table) -> str:
    names = tuple(column.name for column in table.columns)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "


_SPEC = _insert(schema.specs)
_JOB = _insert(schema.jobs)
_SEGMENT = _insert(schema.segments)
_HISTORY = _insert(schema.history)
_KEY = _insert(schema.submissions)
_STATE = _insert(schema.state)


@lru_cache(maxsize=1024)
def _values(mark: str, width: int, count: int) -> str:
    row = "(" + ",".join([mark] * width) + ")"
    return ",".join([row] * count)


class _Rows:
    """Puts rows through one cursor, a statement's fill at a time."""

    def __init__(self, cursor: DBAPICursor, mark: str) -> None:
        self._cursor = cursor
        self._mark = mark

    def put(self, head: str, rows: Collection[tuple[Any, ...]], width: int, tail: str = "") -> None:
        if not rows:
            return
        fill = PARAMETERS // width
        remaining: Iterable[tuple[Any, ...]] = iter(rows)
        while chunk := tuple(islice(remaining, fill)):
            statement = head + _values(self._mark, width, len(chunk)) + tail
            self._cursor.execute(statement, tuple(chain.from_iterable(chunk)))


def commit(connection: Connection, batch: Batch) -> None:
    """Write every row of `batch` and commit. After an error nothing of it is in the database,
    once the caller has closed or rolled back the connection."""
    driver = connection.connection
    cursor = driver.cursor()
    rows = _Rows(cursor, _MARKS[connection.dialect.paramstyle])
    rows.put(_SPEC, batch.specs.items(), 2, " ON CONFLICT (digest) DO NOTHING")
    rows.put(_JOB, _new_jobs(batch), 9)
    rows.put(_SEGMENT, _news(batch), 4)
    rows.put(_HISTORY, _ends(batch), 8)
    rows.put(_KEY, [(key, *row) for key, row in batch.keys.items()], 4)
    rows.put(_STATE, batch.state.items(), 2, " ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    cursor.close()
    driver.commit()


def _new_jobs(batch: Batch) -> list[tuple[Any, ...]]:
    return [(*row, ",".join(batch.logs[row[0]][1])) for row in batch.jobs]


def _news(batch: Batch) -> list[tuple[Any, ...]]:
    """What neither the row of a new job nor that of an ended one can hold."""
    allocations, ended = batch.allocations, batch.ended
    return [
        (job, seq, ",".join(lines) if seq else "", allocations.get(job))
        for job, (seq, lines) in batch.logs.items()
        if job in allocations or (seq and job not in ended)
    ]


def _ends(batch: Batch) -> list[tuple[Any, ...]]:
    allocations, logs = batch.allocations, batch.logs
    rows = []
    for job, row in batch.ended.items():
        seq, lines = logs.get(job, (0, ()))
        rows.append((job, *row, ",".join(lines) if seq and job not in allocations else ""))
    return rows
