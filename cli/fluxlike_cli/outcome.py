"""How a job ended, from its record: for people, and as an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fluxlike.client.results import JobRecord


def exit_code(record: JobRecord) -> int:
    """The job's own; at least 1 for a job that an exception ended or that never ran."""
    if record.returncode > 0:
        return record.returncode
    return 0 if record.succeeded else 1


def outcome(record: JobRecord) -> str:
    """`failed: exit code 3`, `canceled: wrong input`."""
    parts = [record.result or "ended"]
    if record.result == "failed" and record.returncode > 128:
        parts.append(f"signal {record.returncode - 128}")
    elif record.result == "failed" and record.returncode > 0:
        parts.append(f"exit code {record.returncode}")
    if record.exception_note:
        parts.append(record.exception_note)
    return ": ".join(parts)
