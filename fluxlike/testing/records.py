"""Records as an instance gives them, with sensible values for all that a test does not care about."""

from __future__ import annotations

from typing import Any

STATE_TIMES = ("t_submit", "t_depend", "t_run", "t_cleanup", "t_inactive")


def job_record(id: int, **fields: Any) -> dict[str, Any]:
    """A row of job.list: a job of one task that has completed, except for the fields given."""
    record: dict[str, Any] = {
        "id": id,
        "userid": 1000,
        "urgency": 16,
        "priority": 16,
        "state": "inactive",
        "result": "completed",
        "name": "true",
        "cc": "",
        "cwd": "/tmp",
        "queue": "",
        "ntasks": 1,
        "nnodes": 1,
        "ncores": 1,
        "ngpus": 0,
        "duration": 0.0,
        "expiration": 0.0,
        "ranks": "0",
        "nodelist": "node0",
        **{name: 1_700_000_000.0 + at for at, name in enumerate(STATE_TIMES)},
        "status": 0,
        "returncode": 0,
        "exception_type": "",
        "exception_severity": -1,
        "exception_note": "",
        "dependencies": [],
        "annotations": {},
        "reason": "",
        "attempt": 0,
        "array": 0,
        "tasks": {},
    }
    unknown = fields.keys() - record.keys()
    if unknown:
        raise TypeError(f"a job has no {', '.join(sorted(unknown))}")
    return record | fields


def pending_record(id: int, **fields: Any) -> dict[str, Any]:
    """A row of job.list: a job that waits for resources, except for the fields given."""
    waiting: dict[str, Any] = {
        "state": "sched",
        "result": "",
        "nnodes": 0,
        "ncores": 0,
        "ranks": "",
        "nodelist": "",
        "t_run": 0.0,
        "t_cleanup": 0.0,
        "t_inactive": 0.0,
        "status": -1,
        "returncode": -128,
        "reason": "waits for cores",
    }
    return job_record(id, **waiting | fields)
