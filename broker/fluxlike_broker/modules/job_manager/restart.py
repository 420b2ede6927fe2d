"""Taking up where the last rank 0 stopped: replay, then ask again."""

from __future__ import annotations

import json
import logging

import msgpack

from fluxlike.ids import encode_f58
from fluxlike.job.array import TaskTable
from fluxlike.job.eventlog import parse
from fluxlike.job.job import Job, apply
from fluxlike.job.passage import same_as
from fluxlike.job.states import PENDING, State
from fluxlike.job.summary import table_from_summary
from fluxlike.protocol.internal import Launch
from fluxlike.resource.rset import RSet
from fluxlike.sched.interface import Allocation
from fluxlike.sched.request import Request
from fluxlike_broker.modules.job_manager.arrays import Arrays
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.launching import launch_row
from fluxlike_broker.modules.job_manager.specs import Specs
from fluxlike_broker.modules.job_manager.waiting import Waiting
from fluxlike_broker.store.load import JobRow, Loaded

log = logging.getLogger("fluxlike.job")


class Restart:
    def __init__(self, board: Board, specs: Specs, waiting: Waiting, arrays: Arrays) -> None:
        self._board = board
        self._arrays = arrays
        self._specs = specs
        self._waiting = waiting
        self._log: list[str] = []
        self._like: Job | None = None
        """Jobs that were submitted together and did nothing since have the same log: it is read once."""

    def restore(self, loaded: Loaded) -> None:
        """All jobs of the store, in memory as they were; then every active one is asked what it needs next."""
        self._board.census.ended_before(loaded.results)
        for tasks, summary in loaded.arrays:
            self._board.census.tasks_counted(table_from_summary(tasks, msgpack.unpackb(summary)), 1)
        active = [self._replay(row, loaded.specs) for row in loaded.active]
        if active or loaded.results:
            log.info("restored %d active and %d inactive jobs", len(active), sum(loaded.results.values()))
        for job in active:
            self._resume(job)
        self._waiting.resume([job for job in active if job.state is State.DEPEND])

    def _fresh(self, row: JobRow, specs: dict[str, bytes]) -> Job:
        job = self._board.jobs[row.id] = Job(row.id, row.digest, None if row.tasks else row.vars)
        job.spec = self._specs.restore(row.digest, specs[row.digest])
        if row.tasks:
            job.tasks = TaskTable(row.id, row.tasks, json.loads(row.vars) if row.vars else None)
            self._arrays.add(job)
        return job

    def _replay(self, row: JobRow, specs: dict[str, bytes]) -> Job:
        job = self._fresh(row, specs)
        like = self._like
        if like is not None and row.log == self._log and job.tasks is None:
            same_as(job, like)
        else:
            for timestamp, name, context in parse(row.log):
                apply(job, timestamp, name, context)
            if job.updates:
                job.spec = self._specs.updated(job.spec, job.updates)
            usual = job.state is State.SCHED and job.tasks is None and not job.updates
            self._log, self._like = (row.log, job) if usual else ([], None)
        self._board.census.moved(job, None)
        if row.allocation is not None:
            rset = RSet.from_json(json.loads(row.allocation))
            job.allocation = allocation_of(rset, job.spec.request)
            for rank, host in rset.hosts.items():
                self._board.hosts.setdefault(rank, host)
        return job

    def _resume(self, job: Job) -> None:
        board = self._board
        if job.tasks is not None and not job.state & (State.NEW | State.DEPEND | State.PRIORITY):
            self._arrays.resume(job)
            return
        if job.held:
            board.scheduler.adopt(job.id, job.allocation)
        if job.state & PENDING:
            if job.state is State.SCHED:  # it asks again, as if nothing had happened
                board.scheduler.enqueue(job.id, job.spec.request, job.priority)
                board.schedule_soon()
            elif job.state is State.PRIORITY:
                board.drive(job)
        elif job.held and not job.finished:
            log.info("job %s: looking for its tasks", encode_f58(job.id))
            board.router.request(Launch(rows=[launch_row(job.id, job, job.allocation, adopt=True)]))
            board.set_time_limit(job)
            board.drive(job)
        else:
            board.drive(job)


def allocation_of(rset: RSet, request: Request) -> Allocation:
    """R does not say how many slots are on each node: that follows from what a slot takes."""
    nodes = tuple((rank, cores, gpus) for rank, (cores, gpus) in sorted(rset.ranks.items()))
    return Allocation(nodes, request.slots_on(nodes))
