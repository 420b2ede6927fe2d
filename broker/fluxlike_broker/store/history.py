"""Questions about jobs that only the store still knows, and their removal.

These run in the writer's thread, through `StoreWriter.query`; SQLAlchemy is already loaded there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.engine import Connection

T = TypeVar("T")

AT_ONCE = 500
"""Ids in one statement."""


@dataclass(slots=True)
class EndedRow:
    """An inactive job as the store keeps it."""

    id: int
    digest: str
    vars: str | None
    tasks: int
    summary: bytes
    spec: bytes


@dataclass(slots=True)
class Filter:
    """Which inactive jobs. Empty and zero fields do not restrict."""

    results: Collection[str] = ()
    userid: int = -1
    name: str = ""
    since: float = 0.0
    before: tuple[float, int] | None = None
    """Where the last page ended: (time of the end, id)."""


def page(connection: Connection, wanted: Filter, limit: int) -> list[EndedRow]:
    """The newest first; 0 is no limit."""
    from sqlalchemy import tuple_

    from fluxlike_broker.store.schema import history

    query = _ended_rows()
    if wanted.results:
        query = query.where(history.c.result.in_(sorted(wanted.results)))
    if wanted.userid >= 0:
        query = query.where(history.c.userid == wanted.userid)
    if wanted.name:
        query = query.where(history.c.name == wanted.name)
    if wanted.since:
        query = query.where(history.c.ended >= wanted.since)
    if wanted.before is not None:
        query = query.where(tuple_(history.c.ended, history.c.id) < wanted.before)  # one range of the index
    query = query.order_by(history.c.ended.desc(), history.c.id.desc())
    return _read(connection, query.limit(limit) if limit else query)


def ended(connection: Connection, ids: Iterable[int]) -> dict[int, EndedRow]:
    """Those of these jobs that are inactive."""
    from fluxlike_broker.store.schema import history

    query = _ended_rows()
    return {
        row.id: row
        for chunk in _chunks(ids, AT_ONCE)
        for row in _read(connection, query.where(history.c.id.in_(chunk)))
    }


def log_of(connection: Connection, job_id: int) -> list[str]:
    """The parts of a job's eventlog, in order; empty for a job that the store does not know."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import history, jobs, segments

    first = connection.scalar(select(jobs.c.log).where(jobs.c.id == job_id))
    if first is None:
        return []
    parts = select(segments.c.log).where(segments.c.job == job_id).order_by(segments.c.seq)
    last = connection.scalar(select(history.c.log).where(history.c.id == job_id))
    return [first, *connection.scalars(parts), last or ""]


def allocation_of(connection: Connection, job_id: int) -> str | None:
    """A job's R as JSON, also after the job has ended; None if it never had one."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import segments

    found = select(segments.c.r).where(segments.c.job == job_id, segments.c.r.is_not(None))
    return connection.scalar(found.order_by(segments.c.seq.desc()))


def submission(connection: Connection, key: str) -> tuple[int, int] | None:
    """First id and number of jobs of the submission that used this key."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import submissions

    row = connection.execute(
        select(submissions.c.first, submissions.c.count).where(submissions.c.key == key)
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def doomed(connection: Connection, before: float | None, keep: int | None) -> list[tuple[int, str]]:
    """(id, result) of the inactive jobs that ended before a time, or are older than the newest `keep`."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import history

    found: dict[int, str] = {}
    rows = select(history.c.id, history.c.result)
    if before is not None:
        found.update({job: result for job, result in connection.execute(rows.where(history.c.ended < before))})
    if keep is not None:
        order = rows.order_by(history.c.ended.desc(), history.c.id.desc()).offset(keep)
        # SQLite takes an offset only with a limit.
        found.update({job: result for job, result in connection.execute(order.limit(2**62))})
    return sorted(found.items())


def forget(connection: Connection, ids: Sequence[int]) -> None:
    """Remove inactive jobs with all that belongs to them, and keys and specs that nothing refers to any more."""
    from sqlalchemy import delete, select

    from fluxlike_broker.store.schema import history, jobs, segments, specs, submissions

    for chunk in _chunks(ids, AT_ONCE):
        connection.execute(delete(segments).where(segments.c.job.in_(chunk)))
        connection.execute(delete(history).where(history.c.id.in_(chunk)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(chunk)))
        connection.execute(delete(submissions).where(submissions.c.first.in_(chunk)))
    connection.execute(delete(specs).where(specs.c.digest.not_in(select(jobs.c.digest).distinct())))
    connection.commit()


def _ended_rows() -> Select[Any]:
    from sqlalchemy import select

    from fluxlike_broker.store.schema import history, jobs, specs

    columns = (jobs.c.id, jobs.c.digest, jobs.c.vars, jobs.c.tasks, history.c.summary, specs.c.body)
    joined = select(*columns).join(history, history.c.id == jobs.c.id).join(specs, specs.c.digest == jobs.c.digest)
    return joined


def _read(connection: Connection, query: Select[Any]) -> list[EndedRow]:
    return [EndedRow(*row) for row in connection.execute(query)]


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk
