"""Reading the store back: everything at start, one job's log later.

These run in the writer's thread, through `StoreWriter.query`; SQLAlchemy is already loaded there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

EventRow = tuple[int, float, str, str | None]
"""Sequence number, timestamp, name, context as JSON."""

InactiveRow = tuple[int, str, str | None, bytes | None]
"""Job id, digest of its spec, vars, summary."""


@dataclass(slots=True)
class JobRow:
    """A job that has not ended, with all that was ever recorded of it."""

    id: int
    digest: str
    userid: int
    urgency: int
    flags: str
    vars: str | None
    submitted: float
    events: list[EventRow] = field(default_factory=list)
    allocation: str | None = None


@dataclass(slots=True)
class Loaded:
    """The whole store: jobs in the order of their ids, events in the order they happened."""

    specs: dict[str, bytes]
    inactive: list[InactiveRow]
    active: list[JobRow]
    state: dict[str, str]


def load(connection: Connection) -> Loaded:
    """Everything a broker needs to go on where the last one stopped."""
    from sqlalchemy import select

    from fluxlike_broker.store import schema

    specs, state = schema.specs, schema.state
    kept = select(state.c.key, state.c.value).where(~state.c.key.startswith(schema.OWN))
    return Loaded(
        specs={digest: body for digest, body in connection.execute(select(specs.c.digest, specs.c.body))},
        inactive=_inactive(connection),
        active=_active(connection),
        state={key: value for key, value in connection.execute(kept)},
    )


def events_of(connection: Connection, job_id: int) -> list[EventRow]:
    """A job's eventlog in order; empty for a job that the store does not know."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import events

    found = select(events.c.seq, events.c.ts, events.c.name, events.c.context).where(events.c.job == job_id)
    return [(seq, ts, name, context) for seq, ts, name, context in connection.execute(found.order_by(events.c.seq))]


def allocation_of(connection: Connection, job_id: int) -> str | None:
    """A job's R as JSON, also after the job has ended; None if it never had one."""
    from sqlalchemy import select

    from fluxlike_broker.store.schema import allocations

    found: str | None = connection.scalar(select(allocations.c.r).where(allocations.c.job == job_id))
    return found


def _inactive(connection: Connection) -> list[InactiveRow]:
    from sqlalchemy import select

    from fluxlike_broker.store.schema import jobs

    found = select(jobs.c.id, jobs.c.digest, jobs.c.vars, jobs.c.summary).where(jobs.c.done == 1)
    return [(id, digest, vars, summary) for id, digest, vars, summary in connection.execute(found.order_by(jobs.c.id))]


def _active(connection: Connection) -> list[JobRow]:
    from sqlalchemy import select

    from fluxlike_broker.store.schema import allocations, events, jobs

    columns = (
        jobs.c.id,
        jobs.c.digest,
        jobs.c.userid,
        jobs.c.urgency,
        jobs.c.flags,
        jobs.c.vars,
        jobs.c.submitted,
    )
    unfinished = jobs.c.done == 0
    rows = connection.execute(select(*columns).where(unfinished).order_by(jobs.c.id))
    active = {row[0]: JobRow(*row) for row in rows}
    held = select(allocations.c.job, allocations.c.r).join(jobs, jobs.c.id == allocations.c.job)
    for job, r in connection.execute(held.where(unfinished)):
        active[job].allocation = r
    log = select(events).join(jobs, jobs.c.id == events.c.job).where(unfinished)
    for job, seq, ts, name, context in connection.execute(log.order_by(events.c.job, events.c.seq)):
        active[job].events.append((seq, ts, name, context))
    return list(active.values())
