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


def _insert(table: Table, *columns: str) -> str:
    names = columns or tuple(column.name for column in table.columns)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "


_SPEC = _insert(schema.specs)
_JOB = _insert(schema.jobs, "id", "digest", "userid", "urgency", "flags", "vars", "submitted")
_EVENT = _insert(schema.events)
_ALLOCATION = _insert(schema.allocations)
_STATE = _insert(schema.state)

# An upsert that always meets its row: UPDATE ... FROM would read better, but SQLite has it only since 3.33
# and enterprise systems still ship 3.26. The WHERE keeps SQLite from reading ON CONFLICT as part of the join.
_DONE = (
    "INSERT INTO jobs (id, digest, userid, urgency, flags, submitted, done, summary) "
    "SELECT j.id, j.digest, j.userid, j.urgency, j.flags, j.submitted, 1, v.column2 FROM (VALUES "
)
_DONE_END = (
    ") AS v JOIN jobs AS j ON j.id = v.column1 WHERE 1 = 1 "
    "ON CONFLICT (id) DO UPDATE SET done = 1, summary = excluded.summary"
)


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
    rows.put(_JOB, batch.jobs, 7)
    rows.put(_EVENT, batch.events, 5)
    rows.put(_ALLOCATION, batch.allocations.items(), 2, " ON CONFLICT (job) DO UPDATE SET r = excluded.r")
    rows.put(_DONE, batch.finished.items(), 2, _DONE_END)
    rows.put(_STATE, batch.state.items(), 2, " ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    cursor.close()
    driver.commit()
