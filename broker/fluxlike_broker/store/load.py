"""Reading the store back at the start of rank 0: what is not over yet.

These run in the writer's thread, through `StoreWriter.query`; SQLAlchemy is already loaded there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fluxlike.ids import nth_after

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_IN_PIECES = {"yield_per": 5000}
"""A million rows should not be in memory twice, as the server's answer and as ours."""


@dataclass(slots=True)
class JobRow:
    """A job that has not ended, with all that was ever recorded of it."""

    id: int
    digest: str
    vars: str | None
    tasks: int
    log: list[str]
    """Parts of its eventlog, in order (job/eventlog.py)."""
    allocation: str | None = None


@dataclass(slots=True)
class Loaded:
    """What a broker needs to go on where the last one stopped. Jobs are in the order of their ids."""

    specs: dict[str, bytes]
    active: list[JobRow]
    state: dict[str, str]
    results: dict[str, int] = field(default_factory=dict)
    """How many inactive jobs ended how, without arrays."""
    arrays: list[tuple[int, bytes]] = field(default_factory=list)
    """Number of tasks and summary of each inactive array."""
    newest: int = 0
    """The largest id that was ever given to a job still known, or kept for its tasks."""


def load(connection: Connection) -> Loaded:
    from sqlalchemy import func, select

    from fluxlike_broker.store.schema import OWN, history, specs, state

    kept = select(state.c.key, state.c.value).where(~state.c.key.startswith(OWN))
    ends = select(history.c.result, func.count()).where(history.c.tasks == 0).group_by(history.c.result)
    arrays = select(history.c.tasks, history.c.summary).where(history.c.tasks > 0)
    values = {key: value for key, value in connection.execute(kept)}
    active = list(_active(connection))
    wanted = {row.digest for row in active}
    return Loaded(
        specs={d: b for d, b in connection.execute(select(specs.c.digest, specs.c.body)) if d in wanted},
        active=active,
        state=values,
        results={result: count for result, count in connection.execute(ends)},
        arrays=[(tasks, summary) for tasks, summary in connection.execute(arrays)],
        newest=_newest(connection),
    )


def _newest(connection: Connection) -> int:
    from sqlalchemy import select

    from fluxlike_broker.store.schema import jobs

    row = connection.execute(select(jobs.c.id, jobs.c.tasks).order_by(jobs.c.id.desc()).limit(1)).one_or_none()
    return 0 if row is None else nth_after(row[0], row[1])


def _active(connection: Connection) -> Iterator[JobRow]:
    from sqlalchemy import exists, select

    from fluxlike_broker.store.schema import history, jobs, segments

    unfinished = ~exists().where(history.c.id == jobs.c.id)
    news: dict[int, list[Any]] = {}
    rows = select(segments.c.job, segments.c.log, segments.c.r)
    of_active = rows.join(jobs, jobs.c.id == segments.c.job).where(unfinished)
    of_active = of_active.order_by(segments.c.job, segments.c.seq)
    for job, log, r in connection.execute(of_active, execution_options=_IN_PIECES):
        news.setdefault(job, []).append((log, r))
    columns = (jobs.c.id, jobs.c.digest, jobs.c.vars, jobs.c.tasks, jobs.c.log)
    found = select(*columns).where(unfinished).order_by(jobs.c.id)
    for id, digest, vars, tasks, first in connection.execute(found, execution_options=_IN_PIECES):
        row = JobRow(id, digest, vars, tasks, [first])
        for log, r in news.get(id, ()):
            row.log.append(log)
            row.allocation = r or row.allocation
        yield row
