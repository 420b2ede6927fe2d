"""The board: all jobs, and the loop of event, persistence and action that moves them (docs/rfc/004)."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Callable
from typing import Any, Protocol

import msgpack

from fluxlike.clock import Clock
from fluxlike.errors import InvalidTransition, NotFound
from fluxlike.ids import encode_f58
from fluxlike.idset import mask_text
from fluxlike.job.actions import Action, wanted
from fluxlike.job.job import Context, Job, apply
from fluxlike.job.layout import layout
from fluxlike.job.states import State
from fluxlike.job.summary import summary_of
from fluxlike.protocol.internal import EndTasks, Launch, LaunchRow, OutputDone
from fluxlike.resource.rset import RSet
from fluxlike.sched.interface import Scheduler
from fluxlike_broker.modules.job_manager.alarms import Alarms
from fluxlike_broker.router import Router

log = logging.getLogger("fluxlike.job")

_to_json = json.JSONEncoder(ensure_ascii=False).encode
"""json.dumps would make an encoder for every event."""

ALLOCATIONS_PER_PASS = 256
EXPEDITE, HIGHEST_PRIORITY = 31, 4294967295


class Batch(Protocol):
    def event(self, job: int, seq: int, ts: float, name: str, context: str | None = None) -> None: ...
    def allocation(self, job: int, r: str) -> None: ...
    def done(self, job: int, summary: bytes) -> None: ...
    def put(self, key: str, value: str) -> None: ...
    def after_commit(self, callback: Callable[[], None]) -> None: ...


class Gathered:
    """Jobs of one batch to be handled together after its commit."""

    def __init__(self, handle: Callable[[list[Job]], None]) -> None:
        self._handle = handle
        self._batch: Any = None
        self._jobs: list[Job] = []

    def add(self, batch: Batch, job: Job) -> None:
        if self._batch is not batch:
            jobs: list[Job] = []
            self._batch, self._jobs = batch, jobs
            batch.after_commit(lambda: self._handle(jobs))
        self._jobs.append(job)


class Board:
    def __init__(self, router: Router, clock: Clock, store: Any, scheduler: Scheduler, alarms: Alarms) -> None:
        self.router = router
        self.clock = clock
        self.store = store
        self.scheduler = scheduler
        self.alarms = alarms
        self.jobs: dict[int, Job] = {}
        self.hosts: dict[int, str] = {}
        self.queue_started = True
        self.stop_reason = ""
        self.stopping = False
        self.on_event: dict[int, list[Callable[[], None]]] = {}
        """Followers of single jobs: called after the commit of news."""
        self.on_retired: list[Callable[[list[Job]], None]] = []
        """Called with jobs whose end is committed."""
        self.on_applied: list[Callable[[Job, str], None]] = []
        """Called at once with events that others depend on: start and clean."""
        self._launching = Gathered(self._launch)
        self._ended = Gathered(self._retired)
        self._flush_due = False
        self._schedule_due = False
        self._steps: dict[Action, Callable[[Job], bool]] = {
            Action.VALIDATE: self._validate,
            Action.RESOLVE_DEPENDENCIES: self._resolve,
            Action.PRIORITIZE: self._prioritize,
            Action.REQUEST_RESOURCES: self._request_resources,
            Action.START_TASKS: self._start_tasks,
            Action.END_TASKS: self._end_tasks,
            Action.FREE_RESOURCES: self._free,
            Action.CLEAN: self._clean,
            Action.RETIRE: self._retire,
        }

    def __getitem__(self, job_id: int) -> Job:
        job = self.jobs.get(job_id)
        if job is None:
            raise NotFound(f"there is no job {encode_f58(job_id)}")
        return job

    # -- events ---------------------------------------------------------------------------------------------

    def post(self, job: Job, name: str, context: Context | None = None, when: float | None = None) -> None:
        """Apply an event and put it into the open batch. Raises InvalidTransition before anything is touched."""
        timestamp = self.clock.now() if when is None else when
        before = apply(job, timestamp, name, context)
        if before is State.SCHED and job.state is not State.SCHED and name != "alloc":
            self.scheduler.dequeue(job.id)
        text = None if context is None else _to_json(context)
        self.store.batch.event(job.id, job.seq - 1, timestamp, name, text)
        if job.id in self.on_event:
            self.store.batch.after_commit(lambda: self._tell_followers(job.id))
        self.flush_soon()

    def drive(self, job: Job) -> None:
        """Do what the job needs next until it has to wait for something."""
        while self._steps[wanted(job)](job):
            pass

    def raise_exception(
        self,
        job: Job,
        kind: str,
        note: str,
        severity: int = 0,
        userid: int | None = None,
        when: float | None = None,
    ) -> None:
        context: Context = {"type": kind, "severity": severity, "note": note}
        if userid is not None:
            context["userid"] = userid
        self.post(job, "exception", context, when)
        self.drive(job)

    def flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        if self._schedule_due:  # what it allocates goes into the same commit
            self._schedule()
        self._flush_due = False
        self.store.flush()

    def when_settled(self, callback: Callable[[], None]) -> None:
        """Once everything applied so far is committed: nobody is told of what a crash could lose."""
        if self.store.settled:
            callback()
        else:
            self.store.batch.after_commit(callback)
            self.flush_soon()

    def _tell_followers(self, job_id: int) -> None:
        for callback in self.on_event.pop(job_id, []):
            callback()

    # -- steps ----------------------------------------------------------------------------------------------

    def _validate(self, job: Job) -> bool:
        self.post(job, "validate")
        return True

    def _resolve(self, job: Job) -> bool:
        if job.dependencies:
            return False
        self.post(job, "depend")
        return True

    def _prioritize(self, job: Job) -> bool:
        priority = HIGHEST_PRIORITY if job.urgency == EXPEDITE else job.urgency
        self.post(job, "priority", {"priority": priority})
        return True

    def _request_resources(self, job: Job) -> bool:
        self.scheduler.enqueue(job.id, job.spec.request, job.priority)
        self.schedule_soon()
        return False

    def _start_tasks(self, job: Job) -> bool:
        if not job.launched:
            self._launching.add(self.store.batch, job)
        return False

    def _end_tasks(self, job: Job) -> bool:
        kind = job.exception[0] if job.exception else ""
        signum = signal.SIGALRM if kind == "timeout" else signal.SIGTERM
        self.router.request(EndTasks(rows=[(job.id, int(signum))]))
        return False

    def _free(self, job: Job) -> bool:
        self.post(job, "release", {"ranks": "all", "final": True})
        self.post(job, "free")
        self.scheduler.release(job.id)
        self.schedule_soon()
        return True

    def _clean(self, job: Job) -> bool:
        self.post(job, "clean")
        for callback in self.on_applied:
            callback(job, "clean")
        return True

    def _retire(self, job: Job) -> bool:
        nodes = [] if job.allocation is None else [list(node) for node in job.allocation.nodes]
        self.store.batch.done(job.id, msgpack.packb(summary_of(job, nodes)))
        self._ended.add(self.store.batch, job)
        return False

    def _retired(self, ended: list[Job]) -> None:
        jobs = [job for job in ended if job.id in self.jobs]  # without those that the store refused meanwhile
        for job in jobs:
            job.eventlog = None
            self._tell_followers(job.id)
        self.router.request(OutputDone(ids=[job.id for job in jobs]))
        for callback in self.on_retired:
            callback(jobs)

    # -- allocation and launch ------------------------------------------------------------------------------

    def schedule_soon(self) -> None:
        if not self._schedule_due:
            self._schedule_due = True
            asyncio.get_running_loop().call_soon(self._schedule)

    def _schedule(self) -> None:
        if not self._schedule_due:
            return
        self._schedule_due = False
        if not self.queue_started or self.stopping or self.store.failure is not None:
            return
        given = self.scheduler.allocate(ALLOCATIONS_PER_PASS)
        now = self.clock.now()
        for job_id, allocation in given:
            job = self.jobs[job_id]
            job.allocation = allocation
            duration = job.spec.jobspec.duration
            expiration = now + duration if duration else 0.0
            self.store.batch.allocation(job_id, _to_json(self.rset(job, now, expiration).to_json()))
            self.post(job, "alloc", {"expiration": expiration} if expiration else None, now)
            self.set_time_limit(job)
            self.drive(job)
        if len(given) == ALLOCATIONS_PER_PASS:
            self.schedule_soon()

    def rset(self, job: Job, starttime: float, expiration: float) -> RSet:
        nodes = job.allocation.nodes
        return RSet(
            ranks={rank: (cores, gpus) for rank, cores, gpus in nodes},
            hosts={rank: self.hosts.get(rank, "?") for rank, _, _ in nodes},
            nslots=sum(job.allocation.slots_per_node),
            starttime=starttime,
            expiration=expiration,
        )

    def set_time_limit(self, job: Job) -> None:
        if job.expiration:
            self.alarms.at(job.expiration, job.id, self._expire)

    def _expire(self, job_id: int) -> None:
        job = self.jobs.get(job_id)
        if job is not None and job.state is State.RUN and job.expiration <= self.clock.now():
            self.raise_exception(job, "timeout", "resource allocation expired")

    def _launch(self, jobs: list[Job]) -> None:
        """The alloc is durable: tell the executors. A job cancelled meanwhile was never started."""
        rows = [self.launch_row(job, adopt=False) for job in jobs if job.state is State.RUN and not job.launched]
        if rows:
            self.router.request(Launch(rows=rows))

    def launch_row(self, job: Job, *, adopt: bool) -> LaunchRow:
        job.launched = True
        masks = {rank: (cores, gpus) for rank, cores, gpus in job.allocation.nodes}
        return LaunchRow(
            id=job.id,
            attempt=job.attempt,
            digest=job.digest,
            spec=job.spec.launch,
            cc=job.cc,
            nodes=[
                (rank, first, count, mask_text(masks[rank][0]), mask_text(masks[rank][1]))
                for rank, first, count in layout(job.allocation, job.spec.ntasks)
                if count  # a node without a task has nothing to start
            ],
            ntasks=job.spec.ntasks,
            allocated_at=job.t_run,
            adopt=adopt,
            started=job.started,
            ended=job.ended,
        )

    # -- news of tasks --------------------------------------------------------------------------------------

    def report(self, job_id: int, what: str, when: float, context: Context | None) -> None:
        """What an executor said. News that a job is past caring for is dropped: its end is recorded already."""
        job = self.jobs.get(job_id)
        if job is None or job.state is State.INACTIVE:
            return
        try:
            self.post(job, what, context, when)
        except InvalidTransition as error:
            log.warning("ignored: %s", error)
            return
        if what == "start":
            for callback in self.on_applied:
                callback(job, "start")
        self.drive(job)
