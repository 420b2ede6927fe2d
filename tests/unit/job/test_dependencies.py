"""When a dependency is met, when it is not yet, and when it never will be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fluxlike.job.dependencies import SCHEMES, Verdict, verdict
from fluxlike.job.job import Job
from fluxlike.jobspec.dependency import JOB_SCHEMES

JobAfter = Callable[[str], Job]

PENDING = "submit validate depend priority"
ENDING = "finish release free clean"

TARGETS = {
    "pending": (PENDING, 0),
    "allocated": (f"{PENDING} alloc", 0),
    "running": (f"{PENDING} alloc start", 0),
    "finished but not yet clean": (f"{PENDING} alloc start finish", 0),
    "completed": (f"{PENDING} alloc start {ENDING}", 0),
    "failed": (f"{PENDING} alloc start {ENDING}", 256),
    "canceled while running": (f"{PENDING} alloc start cancel {ENDING}", 15),
    "canceled while pending": (f"{PENDING} cancel clean", -1),
    "canceled before its start": (f"{PENDING} alloc cancel release free clean", -1),
    "warned and completed": (f"{PENDING} alloc start warning {ENDING}", 0),
}

W, M, N = Verdict.WAIT, Verdict.MET, Verdict.NEVER

TABLE = {
    #                             afterstart  afterany  afterok  afternotok  afterexcept
    "pending": (W, W, W, W, W),
    "allocated": (W, W, W, W, W),
    "running": (M, W, W, W, W),
    "finished but not yet clean": (M, W, W, W, W),
    "completed": (M, M, M, N, N),
    "failed": (M, M, N, M, N),
    "canceled while running": (M, M, N, M, M),
    "canceled while pending": (N, M, N, M, M),
    "canceled before its start": (N, M, N, M, M),
    "warned and completed": (M, M, M, N, N),
}

COLUMNS = ("afterstart", "afterany", "afterok", "afternotok", "afterexcept")


@pytest.mark.parametrize(
    ("target", "scheme", "expected"),
    [(name, scheme, cell) for name, row in TABLE.items() for scheme, cell in zip(COLUMNS, row, strict=True)],
)
def test_verdict_follows_from_how_far_the_other_job_is(
    job_after: JobAfter, target: str, scheme: str, expected: Verdict
) -> None:
    events, status = TARGETS[target]
    job = job_after(events)
    job.status = status
    assert verdict(scheme, job) is expected


def test_every_scheme_that_a_jobspec_may_name_can_be_judged() -> None:
    assert set(COLUMNS) == SCHEMES == JOB_SCHEMES
