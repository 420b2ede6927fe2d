"""A batch as rows, in as few statements as the database takes.

SQLAlchemy's own insert costs three times as much per row, and `executemany` gives the interpreter lock away
once per row, which starves this thread beside a busy loop. So: many rows per VALUES, on the driver's cursor;
and where the driver has it, COPY, with which PostgreSQL takes ten times as many rows a second.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from sqlalchemy import BigInteger, Double, Integer, LargeBinary, Table, Text
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPICursor

from fluxlike_broker.store import schema
from fluxlike_broker.store.batch import Batch

PARAMETERS = 999
"""Parameters in one statement: the least that any SQLite allows by default; more gain nothing, PostgreSQL loses."""

Row = tuple[Any, ...]

_MARKS = {"qmark": "?", "format": "%s", "pyformat": "%s"}
_BINARY = ((BigInteger, "int8"), (Integer, "int4"), (Double, "float8"), (LargeBinary, "bytea"), (Text, "text"))
_MANY = 5
"""Rows from which a COPY is worth its round trips."""


class _Target:
    """A table, as statements need it."""

    def __init__(self, table: Table) -> None:
        names = [column.name for column in table.columns]
        keys = [column.name for column in table.primary_key]
        into = f"{table.name} ({', '.join(names)})"
        changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
        self.width = len(names)
        self.insert = f"INSERT INTO {into} VALUES "
        self.copy = f"COPY {into} FROM STDIN (FORMAT BINARY)"
        self.types = [next(kind for base, kind in _BINARY if isinstance(c.type, base)) for c in table.columns]
        self.ignoring = f" ON CONFLICT ({', '.join(keys)}) DO NOTHING"
        self.replacing = f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


Put = Callable[[_Target, Collection[Row], str], None]
"""Rows into a table, with what the statement ends in."""

_SPECS = _Target(schema.specs)
_JOBS = _Target(schema.jobs)
_SEGMENTS = _Target(schema.segments)
_HISTORY = _Target(schema.history)
_KEYS = _Target(schema.submissions)
_STATE = _Target(schema.state)


def write_rows(connection: Connection, batch: Batch, *, replace: bool = False) -> None:
    """Put every row of `batch` into the open transaction. After an error the caller must roll back.

    With `replace` a row may be there already, and text that the database cannot hold is escaped."""
    cursor = connection.connection.cursor()
    put: Put = _Rows(cursor, _MARKS[connection.dialect.paramstyle]).put
    new = put
    if replace:
        put = new = _replacing(put)
    elif hasattr(cursor, "copy"):
        new = _copying(cursor, put)
    put(_SPECS, batch.specs.items(), _SPECS.ignoring)
    new(_JOBS, _new_jobs(batch), "")
    new(_SEGMENTS, _news(batch), "")
    new(_HISTORY, _ends(batch), "")
    put(_KEYS, [(key, *row) for key, row in batch.keys.items()], "")
    put(_STATE, batch.state.items(), _STATE.replacing)
    cursor.close()


class _Rows:
    """Puts rows through one cursor, a statement's fill at a time."""

    def __init__(self, cursor: DBAPICursor, mark: str) -> None:
        self._cursor = cursor
        self._mark = mark

    def put(self, target: _Target, rows: Collection[Row], tail: str) -> None:
        fill = PARAMETERS // target.width
        remaining: Iterable[Row] = iter(rows)
        while chunk := tuple(islice(remaining, fill)):
            statement = target.insert + _values(self._mark, target.width, len(chunk)) + tail
            self._cursor.execute(statement, tuple(chain.from_iterable(chunk)))


@lru_cache(maxsize=1024)
def _values(mark: str, width: int, count: int) -> str:
    row = "(" + ",".join([mark] * width) + ")"
    return ",".join([row] * count)


def _copying(cursor: Any, put: Put) -> Put:
    def copy(target: _Target, rows: Collection[Row], tail: str) -> None:
        if len(rows) < _MANY:
            put(target, rows, tail)
            return
        with cursor.copy(target.copy) as stream:
            stream.set_types(target.types)
            for row in rows:
                stream.write_row(row)

    return copy


def _replacing(put: Put) -> Put:
    def replace(target: _Target, rows: Collection[Row], tail: str) -> None:
        put(target, [tuple(map(_storable, row)) for row in rows], tail or target.replacing)

    return replace


def _storable(value: Any) -> Any:
    """Text without NUL and lone surrogates, which not every database holds. Escaped as JSON would do it, so that
    logs, which are JSON, say the same as before."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode("utf-8")


def _new_jobs(batch: Batch) -> list[Row]:
    return [(*row, ",".join(batch.logs[row[0]][1])) for row in batch.jobs]


def _news(batch: Batch) -> list[Row]:
    """What neither the row of a new job nor that of an ended one can hold."""
    allocations, ended = batch.allocations, batch.ended
    return [
        (job, seq, ",".join(lines) if seq else "", allocations.get(job))
        for job, (seq, lines) in batch.logs.items()
        if job in allocations or (seq and job not in ended)
    ]


def _ends(batch: Batch) -> list[Row]:
    allocations, logs = batch.allocations, batch.logs
    rows = []
    for job, row in batch.ended.items():
        seq, lines = logs.get(job, (0, ()))
        rows.append((job, *row, ",".join(lines) if seq and job not in allocations else ""))
    return rows
