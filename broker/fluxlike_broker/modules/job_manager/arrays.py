"""Array jobs: one job on the board, whose tasks are allocated, started and ended one by one, and recorded together."""

from __future__ import annotations

import json
import logging
import signal
from bisect import bisect_right, insort
from collections.abc import Iterable
from typing import Any

from fluxlike.errors import InvalidRequest
from fluxlike.ids import encode_f58, tick_of
from fluxlike.idset import mask_text, parse_mask
from fluxlike.job.array import (
    DONE,
    HELD,
    MOST_TASKS,
    PENDING,
    STARTED,
    TaskTable,
    alloc_context,
    finish_context,
    idset_text,
)
from fluxlike.job.job import Context, Job
from fluxlike.job.states import State
from fluxlike.protocol.internal import EndTasks, Launch, OutputDone, SignalTasks
from fluxlike.protocol.jobs import SubmitArray
from fluxlike.sched.interface import Allocation
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.board import Board, Gathered
from fluxlike_broker.modules.job_manager.launching import launch_row
from fluxlike_broker.modules.job_manager.submit import Order, Submission, check_key, check_options, submit_context
from fluxlike_broker.service import request

log = logging.getLogger("fluxlike.job")


class TaskNews:
    """What executors said of one array's tasks in one message."""

    __slots__ = ("finished", "notes", "started")

    def __init__(self) -> None:
        self.started: list[int] = []
        self.finished: dict[int, int] = {}
        self.notes: dict[tuple[str, str], list[int]] = {}


class Arrays:
    def __init__(self, board: Board, submission: Submission) -> None:
        self._board = board
        self._submission = submission
        self._starts: list[tuple[int, int]] = []
        """(tick, id) of the arrays in memory, in order: finds the array of a task's key."""
        self._news: dict[int, TaskNews] = {}
        self._unlaunched: set[int] = set()
        """Keys of tasks with resources whose start waits for the commit."""
        self._launching: Gathered[tuple[Job, int]] = Gathered(self._launch)
        self._ended: Gathered[tuple[Job, int]] = Gathered(self._retired)
        board.arrays = self

    # -- submission -----------------------------------------------------------------------------------------

    @request(SubmitArray)
    def submit(self, body: SubmitArray, call: Call) -> None:
        submission = self._submission
        submission.check_open()
        check_options(body.urgency, body.flags)
        check_key(body.key)
        _check(body)
        spec = submission.admissible(body.spec)
        context = submit_context(body.urgency, body.flags, call)
        context |= {"tasks": body.count, "max_running": body.max_running, "max_fails": body.max_fails}

        def create(ids: list[int]) -> None:
            board = self._board
            job = board.jobs[ids[0]] = Job(ids[0], spec.digest, None)
            job.spec = spec
            job.tasks = TaskTable(job.id, body.count, body.values or None)
            self.add(job)
            now = board.clock.now()
            flags = ",".join(body.flags)
            cc = values_text(body.values)
            board.store.batch.job((job.id, spec.digest, context["userid"], body.urgency, flags, cc, now, body.count))
            submission.create_one(job, context, now)

        submission.place(Order(call, body.key, 1, create, reserve=body.count), [spec])

    def add(self, job: Job) -> None:
        """From now on its tasks are found by their keys."""
        insort(self._starts, (tick_of(job.id), job.id))

    def remove(self, job: Job) -> None:
        entry = (tick_of(job.id), job.id)
        if entry in self._starts:
            self._starts.remove(entry)

    def refuse(self, job: Job) -> None:
        """It could not be stored. Some of its tasks may hold resources; none was started."""
        assert job.tasks is not None
        for index in job.tasks.running():
            key = job.tasks.key(index)
            self._unlaunched.discard(key)
            self._board.scheduler.release(key)
        self.remove(job)

    def find(self, key: int) -> tuple[Job, int] | None:
        """The array in memory that a task's key belongs to, and the task's index."""
        at = bisect_right(self._starts, (tick_of(key), key)) - 1
        job = self._board.jobs.get(self._starts[at][1]) if at >= 0 else None
        if job is None or job.tasks is None:
            return None
        index = job.tasks.index(key)
        return None if index is None else (job, index)

    # -- allocation -----------------------------------------------------------------------------------------

    def allocated(self, given: list[tuple[int, Allocation]], now: float) -> None:
        rows: dict[int, list[tuple[int, Allocation]]] = {}
        for key, allocation in given:
            found = self.find(key)
            assert found is not None, "the scheduler gave to a task of no array"
            rows.setdefault(found[0].id, []).append((found[1], allocation))
        for job_id, tasks in rows.items():
            self._give(self._board.jobs[job_id], tasks, now)

    def _give(self, job: Job, tasks: list[tuple[int, Allocation]], now: float) -> None:
        board = self._board
        if job.state is State.SCHED:
            board.post(job, "alloc", None, now)
        context = alloc_context(
            (index, [(rank, mask_text(cores), mask_text(gpus)) for rank, cores, gpus in allocation.nodes])
            for index, allocation in tasks
        )
        board.post(job, "task-alloc", context, now)
        job.launched = True  # there is something to end, if only here
        board.census.tasks(State.SCHED, State.RUN, len(tasks))
        duration = job.spec.jobspec.duration
        assert job.tasks is not None
        for index, _ in tasks:
            key = job.tasks.key(index)
            if duration:
                board.alarms.at(now + duration, key, self._expire)
            self._unlaunched.add(key)
            self._launching.add(board.store.batch, (job, index))

    def _launch(self, tasks: list[tuple[Job, int]]) -> None:
        self._unlaunched.difference_update(job.tasks.key(index) for job, index in tasks if job.tasks is not None)
        rows = [
            self.launch_row(job, index, adopt=False)
            for job, index in tasks
            if job.state is State.RUN and job.tasks is not None and job.tasks.states[index] == HELD
        ]
        if rows:
            self._board.router.request(Launch(rows=rows))

    def launch_row(self, job: Job, index: int, *, adopt: bool) -> Any:
        tasks = job.tasks
        assert tasks is not None
        job.launched = True
        began, _ = tasks.times(index)
        return launch_row(
            tasks.key(index),
            job,
            task_allocation(job, index),
            cc=tasks.cc(index),
            spec=job.spec.launch | {"array": [encode_f58(job.id), tick_of(job.id) + 1]},
            digest=f"{job.digest}@{job.id}",
            allocated_at=began,
            adopt=adopt,
            started=tasks.states[index] == STARTED,
        )

    # -- news of tasks --------------------------------------------------------------------------------------

    def report(self, key: int, what: str, when: float, context: Context | None) -> None:
        """Gathered; `settle` records it."""
        found = self.find(key)
        if found is None or found[0].state is State.INACTIVE:
            return
        job, index = found
        assert job.tasks is not None
        state = job.tasks.states[index]
        news = self._news.setdefault(job.id, TaskNews())
        if what == "start" and state == HELD:
            news.started.append(index)
        elif what == "finish" and state in (HELD, STARTED):
            news.finished[index] = (context or {})["status"]
        elif what == "exception" and context is not None:
            news.notes.setdefault((context["type"], context.get("note", "")), []).append(index)

    def settle(self) -> None:
        """Record what was gathered; called before anybody waits for the commit of it."""
        gathered, self._news = self._news, {}
        for job_id, news in gathered.items():
            job = self._board.jobs.get(job_id)
            if job is not None and job.tasks is not None:
                self._record(job, job.tasks, news)

    def _record(self, job: Job, tasks: TaskTable, news: TaskNews) -> None:
        board = self._board
        for (kind, note), those in news.notes.items():
            board.post(job, "task-exception", {"tasks": idset_text(those), "type": kind, "note": note})
        if news.started:
            if not job.started and job.state is State.RUN:
                board.post(job, "start")
                board.tell_applied(job, "start")
            board.post(job, "task-start", {"tasks": idset_text(news.started)})
        if news.finished:
            failed_before = tasks.failed
            board.post(job, "task-finish", finish_context(news.finished))
            failed = tasks.failed - failed_before
            board.census.tasks_ended(State.RUN, len(news.finished) - failed, failed, 0)
            for index in news.finished:
                key = tasks.key(index)
                board.scheduler.release(key)
                self._ended.add(board.store.batch, (job, key))
            self._after_finish(job, tasks)

    def _after_finish(self, job: Job, tasks: TaskTable) -> None:
        board = self._board
        board.schedule_soon()
        if job.state is State.RUN and 0 <= tasks.max_fails < tasks.failed:
            note = f"{tasks.failed} tasks failed, {tasks.max_fails} are allowed"
            board.raise_exception(job, "max-fails", note)
        elif tasks.over or (job.state is State.CLEANUP and not tasks.active):
            self._finish(job, tasks)
        elif job.state is State.RUN and tasks.ready:
            board.scheduler.enqueue(job.id, job.spec.request, job.priority, tasks)

    def _finish(self, job: Job, tasks: TaskTable) -> None:
        self._board.post(job, "finish", {"status": tasks.status})
        self._board.drive(job)

    def _retired(self, ended: list[tuple[Job, int]]) -> None:
        """The ends of these tasks are committed, but for arrays that the store refused meanwhile."""
        keys = [key for job, key in ended if job.retired or job.id in self._board.jobs]
        self._board.router.request(OutputDone(ids=keys))
        for callback in self._board.on_tasks_retired:
            callback(keys)

    # -- ending ---------------------------------------------------------------------------------------------

    def end_tasks(self, job: Job, signum: int) -> None:
        """The array is to end: those that run are told to, and the last of them ends it."""
        tasks = job.tasks
        assert tasks is not None
        self._board.scheduler.dequeue(job.id)
        news = TaskNews()
        rows = []
        for index in tasks.running():
            key = tasks.key(index)
            if key in self._unlaunched:
                news.finished[index] = signum
            else:
                rows.append((key, signum))
        if rows:
            self._board.router.request(EndTasks(rows=rows))
        if news.finished:
            self._record(job, tasks, news)
        elif not rows:
            self._finish(job, tasks)

    def raise_task(self, job: Job, index: int, kind: str, note: str, severity: int) -> None:
        """An exception of one task: a fatal one ends it, and only it."""
        tasks = job.tasks
        assert tasks is not None
        if tasks.states[index] >= DONE or job.state is State.INACTIVE:
            raise InvalidRequest(f"task {encode_f58(job.id)}.{index} is over")
        waiting = tasks.states[index] == PENDING
        if severity == 0 and waiting and job.state not in (State.SCHED, State.RUN):
            raise InvalidRequest(
                f"job {encode_f58(job.id)} is not in the queue yet: its tasks cannot be cancelled alone"
            )
        context = {"tasks": str(index), "type": kind, "severity": severity, "note": note}
        if severity:
            self._board.post(job, "exception", context)
            return
        self._board.post(job, "task-exception", context)
        if waiting:
            self._board.census.tasks_ended(State.SCHED, 0, 0, 1)
            if not tasks.ready:
                self._board.scheduler.dequeue(job.id)
            if tasks.over:
                self._cancel_whole(job, tasks)
            return
        signum = int(signal.SIGALRM if kind == "timeout" else signal.SIGTERM)
        if tasks.key(index) in self._unlaunched:
            news = TaskNews()
            news.finished[index] = signum
            self._record(job, tasks, news)
        else:
            self._board.router.request(EndTasks(rows=[(tasks.key(index), signum)]))

    def _cancel_whole(self, job: Job, tasks: TaskTable) -> None:
        if job.state is State.RUN:
            self._finish(job, tasks)
        else:
            self._board.raise_exception(job, "cancel", "all of its tasks were cancelled")

    def _expire(self, key: int) -> None:
        found = self.find(key)
        if found is not None and found[0].state is State.RUN:
            job, index = found
            assert job.tasks is not None
            limit = job.spec.jobspec.duration
            over = limit and job.tasks.times(index)[0] + limit <= self._board.clock.now()
            if over and job.tasks.states[index] in (HELD, STARTED):
                self.raise_task(job, index, "timeout", "resource allocation expired", 0)

    def set_time_limits(self, job: Job) -> None:
        """Of tasks that run: an alarm for each, after the array's limit has changed."""
        tasks, limit = job.tasks, job.spec.jobspec.duration
        if tasks is not None and limit:
            for index in tasks.running():
                self._board.alarms.at(tasks.times(index)[0] + limit, tasks.key(index), self._expire)

    def signal(self, job: Job, indices: Iterable[int], signum: int) -> None:
        tasks = job.tasks
        assert tasks is not None
        for index in indices:
            if tasks.states[index] not in (HELD, STARTED):
                raise InvalidRequest(f"task {encode_f58(job.id)}.{index} is not running")
            self._board.router.request(SignalTasks(id=tasks.key(index), signum=signum))

    def stop_running(self, job: Job, note: str) -> None:
        """Those that run are ended; those that wait go on waiting."""
        assert job.tasks is not None
        for index in list(job.tasks.running()):
            self.raise_task(job, index, "cancel", note, 0)

    # -- restart --------------------------------------------------------------------------------------------

    def resume(self, job: Job) -> None:
        """Its tasks that held resources are looked for; the others ask again."""
        tasks, board = job.tasks, self._board
        assert tasks is not None
        job.launched = job.held  # also if none of them runs now: those that wait must be taken out of the queue
        rows = []
        for index in tasks.running():
            allocation = task_allocation(job, index)
            board.scheduler.adopt(tasks.key(index), allocation)
            rows.append(self.launch_row(job, index, adopt=True))
        self.set_time_limits(job)
        if rows:
            log.info("job %s: looking for %d tasks", encode_f58(job.id), len(rows))
            board.router.request(Launch(rows=rows))
        if job.state in (State.SCHED, State.RUN):
            if tasks.ready:
                board.scheduler.enqueue(job.id, job.spec.request, job.priority, tasks)
                board.schedule_soon()
            elif tasks.over:
                self._finish(job, tasks)
        else:
            board.drive(job)


def task_allocation(job: Job, index: int) -> Allocation:
    assert job.tasks is not None
    nodes = tuple((rank, parse_mask(cores), parse_mask(gpus)) for rank, cores, gpus in job.tasks.nodes[index])
    return Allocation(nodes, job.spec.request.slots_on(nodes))


def values_text(values: Iterable[str]) -> str | None:
    """How the store keeps the tasks' values; None: they are the indices."""
    return json.dumps(list(values), ensure_ascii=False) if values else None


def _check(body: SubmitArray) -> None:
    if not 1 <= body.count <= MOST_TASKS:
        raise InvalidRequest(f"an array has 1 to {MOST_TASKS} tasks, not {body.count}")
    if body.values and len(body.values) != body.count:
        raise InvalidRequest(f"job.submit-array: {len(body.values)} values for {body.count} tasks")
    if body.max_running < 0:
        raise InvalidRequest(f"max_running is {body.max_running}; 0 is no limit")
