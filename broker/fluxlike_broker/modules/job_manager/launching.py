"""What the executors are told of a job that is to be started, or looked for."""

from __future__ import annotations

from typing import Any

from fluxlike.idset import mask_text
from fluxlike.job.job import Job
from fluxlike.job.layout import layout
from fluxlike.protocol.internal import LaunchRow
from fluxlike.sched.interface import Allocation


def launch_row(
    key: int,
    job: Job,
    allocation: Allocation,
    *,
    adopt: bool,
    cc: str | None = None,
    spec: dict[str, Any] | None = None,
    digest: str = "",
    allocated_at: float = 0.0,
    started: bool | None = None,
) -> LaunchRow:
    """Of the job itself, or of one of its tasks under a key of its own."""
    job.launched = True
    ntasks = job.spec.ntasks
    return LaunchRow(
        key,
        job.attempt,
        digest or job.spec.digest,
        job.spec.launch if spec is None else spec,
        job.cc if cc is None else cc,
        _places(allocation, ntasks),
        ntasks,
        allocated_at or job.t_run,
        adopt,
        job.started if started is None else started,
        job.ended,
    )


def _places(allocation: Allocation, ntasks: int) -> list[tuple[int, int, int, str, str]]:
    if len(allocation.nodes) == 1:
        rank, cores, gpus = allocation.nodes[0]
        return [(rank, 0, ntasks, mask_text(cores), mask_text(gpus))]
    masks = {rank: (cores, gpus) for rank, cores, gpus in allocation.nodes}
    return [
        (rank, first, count, mask_text(masks[rank][0]), mask_text(masks[rank][1]))
        for rank, first, count in layout(allocation, ntasks)
        if count  # a node without a task has nothing to start
    ]
