"""Jobs that are over: the last of them are in memory, all are in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgpack

from fluxlike.errors import StoreUnavailable
from fluxlike.job.array import TaskTable
from fluxlike.job.job import Job, result
from fluxlike.job.states import State
from fluxlike.job.summary import from_summary
from fluxlike.sched.interface import Allocation
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.specs import Specs, name_of
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
        """Inactive jobs, those that ended last first. While the store does not work, of those in memory."""
        if self._board.store.failure is not None:
            on_page(self._remembered(wanted)[: limit or None])
            return

        def answer(found: Any) -> None:
            if isinstance(found, StoreUnavailable):  # it failed just now
                on_page(self._remembered(wanted)[: limit or None])
            else:
                on_page(found if isinstance(found, Exception) else [self.revive(row) for row in found])

        self._board.store.query(lambda connection: history.page(connection, wanted, limit), answer)

    def _remembered(self, wanted: history.Filter) -> list[Job]:
        ended = [job for job in self._board.jobs.values() if job.state is State.INACTIVE and _is_wanted(job, wanted)]
        return sorted(ended, key=lambda job: (job.t_inactive, job.id), reverse=True)

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


def _is_wanted(job: Job, wanted: history.Filter) -> bool:
    return (
        (not wanted.results or result(job) in wanted.results)
        and wanted.userid in (-1, job.userid)
        and wanted.name in ("", name_of(job))
        and job.t_inactive >= wanted.since
        and (wanted.before is None or (job.t_inactive, job.id) < wanted.before)
    )
