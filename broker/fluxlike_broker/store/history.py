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

LARGEST_ID = 2**63 - 1
"""A database's integers are signed: nobody can have stored a job beyond."""


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
        for chunk in _chunks(_storable(ids), AT_ONCE)
        for row in _read(connection, query.where(history.c.id.in_(chunk)))
    }


def log_of(connection: Connection, job_id: int) -> list[str]:
    """The parts of a job's eventlog, in order; empty for a job that the store does not know."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import history, jobs, segments

    if job_id > LARGEST_ID:
        return []
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


def at_or_before(connection: Connection, job_id: int) -> tuple[int, int] | None:
    """Id and number of tasks of the job with the largest id up to this one. An array's tasks have the ids after its
    own."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import jobs

    nearest = (
        select(jobs.c.id, jobs.c.tasks).where(jobs.c.id <= min(job_id, LARGEST_ID)).order_by(jobs.c.id.desc()).limit(1)
    )
    row = connection.execute(nearest).one_or_none()
    return None if row is None else (row[0], row[1])


def submission(connection: Connection, key: str) -> tuple[int, int] | None:
    """First id and number of jobs of the submission that used this key."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import submissions

    row = connection.execute(
        select(submissions.c.first, submissions.c.count).where(submissions.c.key == key)
    ).one_or_none()
    return None if row is None else (row[0], row[1])


@dataclass(slots=True)
class Doomed:
    """Inactive jobs that are to be forgotten."""

    ids: list[int]
    results: dict[int, str]
    """How those that are not arrays ended."""
    arrays: dict[int, tuple[int, bytes]]
    """Number of tasks and summary of each array."""


def doomed(connection: Connection, *, ids: Iterable[int] = (), before: float = 0.0, keep: int = -1) -> Doomed:
    """Of the inactive jobs: these, those that ended before a time, those older than the newest `keep`."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import history

    rows = select(history.c.id, history.c.result, history.c.tasks)
    found: dict[int, tuple[str, int]] = {}
    queries = [rows.where(history.c.id.in_(chunk)) for chunk in _chunks(_storable(ids), AT_ONCE)]
    if before:
        queries.append(rows.where(history.c.ended < before))
    if keep >= 0:
        newest_first = rows.order_by(history.c.ended.desc(), history.c.id.desc())
        queries.append(newest_first.offset(keep).limit(2**62))  # SQLite takes an offset only with a limit
    for query in queries:
        found.update({job: (result, tasks) for job, result, tasks in connection.execute(query)})
    return _doomed(connection, found)


def _doomed(connection: Connection, found: dict[int, tuple[str, int]]) -> Doomed:
    from sqlalchemy import select

    from fluxlike_broker.store.schema import history

    results = {job: result for job, (result, tasks) in found.items() if not tasks}
    arrays = {}
    for job, (_, tasks) in found.items():
        if tasks:
            summary = connection.scalar(select(history.c.summary).where(history.c.id == job))
            arrays[job] = (tasks, summary or b"")
    return Doomed(sorted(found), results, arrays)


def forget(connection: Connection, ids: Sequence[int]) -> None:
    """Remove inactive jobs with all that belongs to them."""
    from sqlalchemy import delete

    from fluxlike_broker.store.schema import history, jobs, segments, submissions

    for chunk in _chunks(ids, AT_ONCE):
        connection.execute(delete(segments).where(segments.c.job.in_(chunk)))
        connection.execute(delete(history).where(history.c.id.in_(chunk)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(chunk)))
        connection.execute(delete(submissions).where(submissions.c.first.in_(chunk)))
    connection.commit()


def forget_unused_specs(connection: Connection) -> None:
    from sqlalchemy import delete, select

    from fluxlike_broker.store.schema import jobs, specs

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


def _storable(ids: Iterable[int]) -> Iterator[int]:
    return (job for job in ids if job <= LARGEST_ID)


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk
