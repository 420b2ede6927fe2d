"""A summary is what a restart knows of a job that has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from fluxlike.job.job import Job, result, returncode
from fluxlike.job.summary import from_summary, summary_of

JobAfter = Callable[[str], Job]
Fields = Callable[[Job], dict[str, Any]]

RUNNING = "submit validate depend priority alloc start"


@pytest.mark.parametrize(
    "events",
    [
        f"{RUNNING} finish release free clean",
        f"{RUNNING} resource-update cancel finish release free clean",
        "submit validate urgency timeout clean",
        "submit validate dependency-add cancel clean",
    ],
)
def test_job_read_from_its_summary_is_the_job_that_ended(job_after: JobAfter, fields: Fields, events: str) -> None:
    ended = job_after(events)
    ended.retired = True
    fresh = Job(ended.id, ended.digest, ended.cc)
    nodes = from_summary(fresh, msgpack.unpackb(msgpack.packb(summary_of(ended, [[0, 15, 0], [3, 1, 0]]))))
    assert fields(fresh) == fields(ended)
    assert (result(fresh), returncode(fresh)) == (result(ended), returncode(ended))
    assert nodes == [[0, 15, 0], [3, 1, 0]]


def test_job_that_never_ran_has_no_nodes(job_after: JobAfter) -> None:
    ended = job_after("submit validate cancel clean")
    assert from_summary(Job(7, "sha256-a", None), summary_of(ended, [])) == []
