"""What is kept of an inactive job besides its eventlog, so that a restart need not replay it."""

from __future__ import annotations

from typing import Any

from fluxlike.job.array import TaskTable
from fluxlike.job.job import Job
from fluxlike.job.states import State

_FIELDS = (
    "userid",
    "urgency",
    "priority",
    "trail",
    "status",
    "started",
    "finished",
    "attempt",
    "expiration",
    "t_submit",
    "t_depend",
    "t_run",
    "t_cleanup",
    "t_inactive",
)


def summary_of(job: Job, nodes: list[Any]) -> list[Any]:
    """Plain values in a fixed order; `nodes` is where it ran."""
    return [
        2,
        [getattr(job, name) for name in _FIELDS],
        list(job.flags),
        job.exception,
        nodes,
        None if job.tasks is None else job.tasks.pack(),
        *([job.updates] if job.updates else []),
    ]


def from_summary(job: Job, summary: list[Any]) -> list[Any]:
    """Fill a fresh job; returns the nodes."""
    _version, values, flags, exception, nodes, tasks, *more = summary
    job.updates = more[0] if more else None
    for name, value in zip(_FIELDS, values, strict=True):
        setattr(job, name, value)
    job.flags = tuple(flags)
    job.exception = None if exception is None else (exception[0], exception[1], exception[2])
    if job.tasks is not None:
        job.tasks.unpack(tasks, job.t_submit)
    job.state = State.INACTIVE
    job.retired = True
    found: list[Any] = nodes
    return found


def table_from_summary(count: int, summary: list[Any]) -> TaskTable:
    """The tasks of an inactive array, enough to count them."""
    table = TaskTable(0, count, None)
    table.unpack(summary[5], 0.0)
    return table
