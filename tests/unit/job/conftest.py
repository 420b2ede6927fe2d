"""Jobs at any point of their life, told by the names of their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fluxlike.job.job import Context, Job, apply

CONTEXTS: dict[str, Context] = {
    "submit": {"urgency": 16, "userid": 1000, "flags": [], "version": 1},
    "dependency-add": {"description": "afterok=ƒ1"},
    "dependency-remove": {"description": "afterok=ƒ1"},
    "priority": {"priority": 16},
    "urgency": {"urgency": 20, "userid": 1000},
    "finish": {"status": 0},
    "release": {"ranks": "all", "final": True},
    "resource-update": {"expiration": 99.0},
    "cancel": {"type": "cancel", "severity": 0, "note": "enough", "userid": 1000},
    "timeout": {"type": "timeout", "severity": 0, "note": "resource allocation expired"},
    "warning": {"type": "warning", "severity": 3, "note": "smells"},
}
"""What an event carries when a story does not say; `cancel`, `timeout` and `warning` are exceptions."""

EXCEPTIONS = ("cancel", "timeout", "warning")

PENDING = "submit validate depend priority"
RUNNING = f"{PENDING} alloc start"
ENDED = f"{RUNNING} finish release free clean"


def event(name: str) -> tuple[str, Context | None]:
    return ("exception" if name in EXCEPTIONS else name), CONTEXTS.get(name)


def tell(job: Job, story: str) -> Job:
    """Apply the events named, one second apart."""
    for word in story.split():
        name, context = event(word)
        apply(job, 100.0 + job.seq, name, context)
    return job


def fields(job: Job) -> dict[str, Any]:
    """Everything that a job is, to be compared."""
    return {name: getattr(job, name) for name in Job.__slots__}


@pytest.fixture(name="job_after")
def _job_after() -> Callable[[str], Job]:
    return lambda story: tell(Job(7, "sha256-a", None), story)


@pytest.fixture(name="tell")
def _tell() -> Callable[[Job, str], Job]:
    return tell


@pytest.fixture(name="event")
def _event() -> Callable[[str], tuple[str, Context | None]]:
    return event


@pytest.fixture(name="fields")
def _fields() -> Callable[[Job], dict[str, Any]]:
    return fields
