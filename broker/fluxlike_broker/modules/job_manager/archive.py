"""Jobs that are over: the last of them are in memory, all are in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgpack

from fluxlike.job.array import TaskTable
from fluxlike.job.job import Job
from fluxlike.job.summary import from_summary
from fluxlike.sched.interface import Allocation
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.specs import Specs
from fluxlike_broker.store import history

OnJobs = Callable[[dict[int, Job] | Exception], None]


class Archive:
    def __init__(self, board: Board, specs: Specs) -> None:
        self._board = board
        self._specs = specs

    def find(self, ids: Iterable[int], on_jobs: OnJobs) -> None:
        """The jobs with these ids, active or not, by id; those that nobody knows are not among them.

        Called back at once if all are in memory."""
        ids = list(ids)
        here = {job_id: job for job_id in ids if (job := self._board.jobs.get(job_id)) is not None}
        missing = [job_id for job_id in ids if job_id not in here]
        if not missing:
            on_jobs(here)
            return

        def answer(found: Any) -> None:
            if isinstance(found, Exception):
                on_jobs(found)
                return
            # Without those that the store refused meanwhile: they never were.
            still = {job_id: job for job_id, job in here.items() if job.retired or job_id in self._board.jobs}
            on_jobs(still | {job_id: self.revive(row) for job_id, row in found.items()})

        self._board.store.query(lambda connection: history.ended(connection, missing), answer)

    def page(self, wanted: history.Filter, limit: int, on_page: Callable[[list[Job] | Exception], None]) -> None:
        """Inactive jobs, those that ended last first."""

        def answer(found: Any) -> None:
            on_page(found if isinstance(found, Exception) else [self.revive(row) for row in found])

        self._board.store.query(lambda connection: history.page(connection, wanted, limit), answer)

    def revive(self, row: history.EndedRow) -> Job:
        job = Job(row.id, row.digest, None if row.tasks else row.vars)
        if row.tasks:
            job.tasks = TaskTable(row.id, row.tasks, json.loads(row.vars) if row.vars else None)
        job.spec = self._specs.restore(row.digest, row.spec)
        nodes = from_summary(job, msgpack.unpackb(row.summary))
        if job.updates:
            job.spec = self._specs.updated(job.spec, job.updates)
        if nodes:
            job.allocation = Allocation(tuple((r, c, g) for r, c, g in nodes), (1,) * len(nodes))
        return job
