"""The board: all jobs that are not over, and the loop of event, persistence and action that moves them (rfc 004)."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgpack

from fluxlike.clock import Clock
from fluxlike.errors import InvalidTransition, NotFound
from fluxlike.ids import encode_f58
from fluxlike.job import passage
from fluxlike.job.actions import Action, wanted
from fluxlike.job.eventlog import line
from fluxlike.job.job import Context, Job, apply, result
from fluxlike.job.states import State
from fluxlike.job.summary import summary_of
from fluxlike.protocol.internal import EndTasks, Launch, OutputDone
from fluxlike.resource.rset import RSet
from fluxlike.resource.rtext import RTexts
from fluxlike.sched.interface import Allocation, Scheduler
from fluxlike_broker.modules.job_manager.alarms import Alarms
from fluxlike_broker.modules.job_manager.census import Census
from fluxlike_broker.modules.job_manager.launching import launch_row
from fluxlike_broker.modules.job_manager.news import News
from fluxlike_broker.modules.job_manager.specs import name_of
from fluxlike_broker.router import Router

log = logging.getLogger("fluxlike.job")

_pack = msgpack.Packer().pack

ALLOCATIONS_PER_PASS = 256
EXPEDITE, HIGHEST_PRIORITY = 31, 4294967295

MANY_RUNNING = 16
BREATH = 0.002
"""Seconds between commits while that many jobs run: news of several travel together, and no core waits for it."""

RECENT = 10_000
"""Ended jobs that stay in memory, so that most questions about them need not go to the store."""


class Batch(Protocol):
    def event(self, job: int, seq: int, lines: str) -> None: ...
    def allocation(self, job: int, r: str) -> None: ...
    def end(self, job: int, row: tuple[float, str, int, str, int, bytes]) -> None: ...
    def put(self, key: str, value: str) -> None: ...
    def after_commit(self, callback: Callable[[], None]) -> None: ...


T = TypeVar("T")


class Gathered(Generic[T]):
    """Things of one batch to be handled together after its commit."""

    def __init__(self, handle: Callable[[list[T]], None]) -> None:
        self._handle = handle
        self._batch: Batch | None = None
        self._things: list[T] = []

    def add(self, batch: Batch, thing: T) -> None:
        if self._batch is not batch:
            things: list[T] = []
            self._batch, self._things = batch, things
            batch.after_commit(lambda: self._committed(things))
        self._things.append(thing)

    def _committed(self, things: list[T]) -> None:
        if self._things is things:  # nothing is kept alive until the next batch, which may be long after
            self._batch, self._things = None, []
        self._handle(things)


class TaskDesk(Protocol):
    """What the board leaves to others: the tasks of array jobs."""

    def allocated(self, given: list[tuple[int, Allocation]], now: float) -> None: ...
    def report(self, key: int, what: str, when: float, context: Context | None) -> None: ...
    def end_tasks(self, job: Job, signum: int) -> None: ...
    def remove(self, job: Job) -> None: ...
    def refuse(self, job: Job) -> None: ...


class Board:
    def __init__(self, router: Router, clock: Clock, store: Any, scheduler: Scheduler, alarms: Alarms) -> None:
        self.router = router
        self.clock = clock
        self.store = store
        self.scheduler = scheduler
        self.alarms = alarms
        self.jobs: dict[int, Job] = {}
        """Active ones, and those that ended last."""
        self._recent: deque[int] = deque()
        self.census = Census()
        self.news = News(self.jobs)
        self._r_texts = RTexts()
        self.hosts: dict[int, str] = {}
        self.hosts_known = 0
        """Counts up when a host gets a name: texts made of names are stale then."""
        self.queue_started = True
        self.stop_reason = ""
        self.queue_enabled = True
        self.disable_reason = ""
        self.stopping = False
        self.arrays: TaskDesk
        self.on_tasks_retired: list[Callable[[list[int]], None]] = []
        """Called with keys of array tasks whose end is committed."""
        self.on_retired: list[Callable[[list[Job]], None]] = []
        """Called with jobs whose end is committed."""
        self.on_applied: list[Callable[[Job, str], None]] = []
        """Called at once with events that others depend on: start and clean."""
        self._launching = Gathered(self._launch)
        self._ended = Gathered(self._retired)
        self._flush_due = False
        self._flushed = 0.0
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
        seq = job.seq
        before = apply(job, timestamp, name, context)
        if before is not job.state:
            self.census.moved(job, before)
            if before is State.SCHED and name != "alloc":
                self.scheduler.dequeue(job.id)
        elif not seq:
            self.census.moved(job, None)
        self.record(job, seq, line(timestamp, name, context))
        self.flush_soon()

    def record(self, job: Job, seq: int, lines: str) -> None:
        """Put what was applied into the open batch; `lines` may be several events."""
        batch = self.store.batch
        batch.event(job.id, seq, lines)
        if self.news.wanted(job.id):
            self.news.add(batch, job.id, seq, lines)

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
        if self._flush_due:
            return
        self._flush_due = True
        loop = asyncio.get_running_loop()
        due = self._flushed + BREATH
        if len(self.census.running) < MANY_RUNNING or loop.time() >= due:
            loop.call_soon(self._flush)
        else:
            loop.call_at(due, self._flush)

    def _flush(self) -> None:
        if self._schedule_due:  # what it allocates goes into the same commit
            self._schedule()
        self._flush_due = False
        self._flushed = asyncio.get_running_loop().time()
        self.store.flush()

    def when_settled(self, callback: Callable[[], None]) -> None:
        """Once everything applied so far is committed: nobody is told of what a crash could lose."""
        if self.store.settled:
            callback()
        else:
            self.store.batch.after_commit(callback)
            self.flush_soon()

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
        self.post(job, "priority", {"priority": priority_of(job.urgency)})
        return True

    def _request_resources(self, job: Job) -> bool:
        self.scheduler.enqueue(job.id, job.spec.request, job.priority, job.tasks)
        self.schedule_soon()
        return False

    def _start_tasks(self, job: Job) -> bool:
        if not job.launched and job.tasks is None:
            self._launching.add(self.store.batch, job)
        return False

    def _end_tasks(self, job: Job) -> bool:
        kind = job.exception[0] if job.exception else ""
        signum = signal.SIGALRM if kind == "timeout" else signal.SIGTERM
        if job.tasks is not None:
            self.arrays.end_tasks(job, int(signum))
            return False
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
        self.tell_applied(job, "clean")
        return True

    def _retire(self, job: Job) -> bool:
        nodes = [] if job.allocation is None else job.allocation.nodes
        batch = self.store.batch
        tasks = 0 if job.tasks is None else job.tasks.count
        batch.end(job.id, (job.t_inactive, result(job), job.userid, name_of(job), tasks, _pack(summary_of(job, nodes))))
        self._ended.add(batch, job)
        return False

    def _retired(self, ended: list[Job]) -> None:
        jobs = [job for job in ended if job.id in self.jobs]  # without those that the store refused meanwhile
        for job in jobs:
            job.retired = True
            self._recent.append(job.id)
        self.router.request(OutputDone(ids=[job.id for job in jobs]))
        for callback in self.on_retired:
            callback(jobs)
        while len(self._recent) > RECENT:
            self._drop(self._recent.popleft())

    def _drop(self, job_id: int) -> None:
        job = self.jobs.pop(job_id, None)
        if job is not None and job.tasks is not None:
            self.arrays.remove(job)

    def forget(self, ids: set[int]) -> None:
        """Purged: not even recent any more."""
        for job_id in ids:
            self._drop(job_id)
        self._recent = deque(job_id for job_id in self._recent if job_id not in ids)

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
        of_tasks = []
        for key, allocation in given:
            job = self.jobs.get(key)
            if job is None:
                of_tasks.append((key, allocation))
            else:
                self._allocated(job, allocation, now)
        if of_tasks:
            self.arrays.allocated(of_tasks, now)
        if given:
            self.flush_soon()
        if len(given) == ALLOCATIONS_PER_PASS:
            self.schedule_soon()

    def _allocated(self, job: Job, allocation: Allocation, now: float) -> None:
        duration = job.spec.jobspec.duration
        expiration = now + duration if duration else 0.0
        batch = self.store.batch
        batch.allocation(job.id, self.r_text(allocation, now, expiration))
        seq = job.seq
        job.allocation = allocation
        passage.allocate(job, now, expiration)
        self.census.moved(job, State.SCHED)
        self.record(job, seq, line(now, "alloc", {"expiration": expiration} if expiration else None))
        if expiration:
            self.set_time_limit(job)
        self._launching.add(batch, job)

    def r_text(self, allocation: Allocation, starttime: float, expiration: float) -> str:
        key = (allocation.nodes, allocation.slots_per_node)
        return self._r_texts.text(key, lambda: self._rset(allocation), starttime, expiration)

    def _rset(self, allocation: Allocation) -> RSet:
        nodes = allocation.nodes
        return RSet(
            ranks={rank: (cores, gpus) for rank, cores, gpus in nodes},
            hosts={rank: self.hosts.get(rank, "?") for rank, _, _ in nodes},
            nslots=sum(allocation.slots_per_node),
        )

    def name_host(self, rank: int, host: str) -> None:
        if self.hosts.get(rank) != host:
            self.hosts[rank] = host
            self.hosts_known += 1
            self._r_texts.clear()

    def set_time_limit(self, job: Job) -> None:
        if job.expiration:
            self.alarms.at(job.expiration, job.id, self._expire)

    def _expire(self, job_id: int) -> None:
        job = self.jobs.get(job_id)
        if job is not None and job.state is State.RUN and 0 < job.expiration <= self.clock.now():
            self.raise_exception(job, "timeout", "resource allocation expired")

    def _launch(self, jobs: list[Job]) -> None:
        """The alloc is durable: tell the executors. A job cancelled meanwhile was never started."""
        rows = [
            launch_row(job.id, job, job.allocation, adopt=False)
            for job in jobs
            if job.state is State.RUN and not job.launched
        ]
        if rows:
            self.router.request(Launch(rows=rows))

    # -- news of tasks --------------------------------------------------------------------------------------

    def report(self, job_id: int, what: str, when: float, context: Context | None) -> None:
        """What an executor said. News that a job is past caring for is dropped: its end is recorded already."""
        job = self.jobs.get(job_id)
        if job is None:
            self.arrays.report(job_id, what, when, context)
        elif job.state is State.INACTIVE:
            return
        elif what == "finish" and passage.can_end(job):
            assert context is not None
            self._end(job, when, context["status"])
        elif what == "start" and passage.can_start(job):
            self._started(job, when)
        else:
            self._unusual(job, what, when, context)

    def _unusual(self, job: Job, what: str, when: float, context: Context | None) -> None:
        try:
            self.post(job, what, context, when)
        except InvalidTransition as error:
            log.warning("ignored: %s", error)
            return
        if what == "start":
            self.tell_applied(job, "start")
        self.drive(job)

    def _started(self, job: Job, when: float) -> None:
        seq = job.seq
        passage.start(job)
        self.record(job, seq, f'[{when!r},"start",null]')
        self.flush_soon()
        self.tell_applied(job, "start")

    def _end(self, job: Job, when: float, status: int) -> None:
        seq = job.seq
        lines = passage.end(job, when, self.clock.now(), status)
        self.census.moved(job, State.RUN)
        self.record(job, seq, lines)
        self.flush_soon()
        self.scheduler.release(job.id)
        self.schedule_soon()
        self.tell_applied(job, "clean")
        self._retire(job)

    def tell_applied(self, job: Job, name: str) -> None:
        for callback in self.on_applied:
            callback(job, name)


def priority_of(urgency: int) -> int:
    return HIGHEST_PRIORITY if urgency == EXPEDITE else urgency
