"""Raising exceptions, killing, urgency, and the end of all jobs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

from fluxlike.errors import FluxlikeError, InvalidRequest, NotFound, StoreUnavailable
from fluxlike.ids import encode_f58
from fluxlike.job.job import Job
from fluxlike.job.states import ACTIVE, MASKS, RUNNING, State
from fluxlike.protocol.internal import FeedTasks, JobReports, JobsEnded, Settled, SignalTasks, StopJobs
from fluxlike.protocol.jobs import (
    JobKill,
    JobRaise,
    JobStdin,
    JobsTouched,
    JobUrgency,
    JobUrgencySet,
)
from fluxlike.protocol.message import Message
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.archive import Archive
from fluxlike_broker.modules.job_manager.arrays import Arrays
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.service import request

MAX_URGENCY = 31


class Control:
    def __init__(self, board: Board, archive: Archive, arrays: Arrays) -> None:
        self._board = board
        self._archive = archive
        self._arrays = arrays
        self._stop_call: Call | None = None
        board.on_retired.append(self._on_retired)
        board.on_tasks_retired.append(self._on_retired)

    @request(JobRaise)
    def raise_(self, body: JobRaise, call: Call) -> JobsTouched | None:
        if not 0 <= body.severity <= 7:
            raise InvalidRequest(f"severity {body.severity} is not in 0 to 7")
        if not body.type or not body.type.replace("-", "").replace("_", "").isalnum():
            raise InvalidRequest(f"{body.type!r} is not a name for an exception")
        targets = body.ids or self._ids_in(body.states)
        if body.dry_run:
            return JobsTouched(ids=targets, errors=[])

        def act(job: Job) -> None:
            if body.severity == 0 and job.state is State.CLEANUP:
                return  # it is ending already
            self._board.raise_exception(job, body.type, body.note, body.severity, call.message.userid)

        def act_on_task(job: Job, index: int) -> None:
            self._arrays.raise_task(job, index, body.type, body.note, body.severity)

        touched = self._for_each(targets, act, act_on_task)
        self._explain(touched, lambda: self._board.when_settled(lambda: call.respond(touched)))
        return None

    def _ids_in(self, states: list[str]) -> list[int]:
        unknown = [name for name in states if name not in MASKS]
        if unknown:
            raise InvalidRequest(f"unknown state {unknown[0]!r}; known are {', '.join(MASKS)}")
        mask = 0
        for name in states:
            mask |= MASKS[name]
        return [job.id for job in self._board.jobs.values() if job.state & mask & ACTIVE]

    def _for_each(
        self, ids: Iterable[int], act: Callable[[Job], None], act_on_task: Callable[[Job, int], None]
    ) -> JobsTouched:
        touched = JobsTouched(ids=[], errors=[])
        for job_id in ids:
            try:
                task = None if job_id in self._board.jobs else self._arrays.find(job_id)
                job = task[0] if task is not None else self._board[job_id]
                if job.state is State.INACTIVE:
                    raise InvalidRequest(f"job {encode_f58(job.id)} is inactive")
                if task is None:
                    act(job)
                else:
                    act_on_task(*task)
            except FluxlikeError as error:
                touched.errors.append([job_id, error.code, str(error)])
            else:
                touched.ids.append(job_id)
        return touched

    def _explain(self, touched: JobsTouched, then: Callable[[], None]) -> None:
        """A job that is not in memory was never there, or ended long ago: only the store knows which."""
        unknown = [row for row in touched.errors if row[1] == NotFound.code]

        def found(jobs: dict[int, Job] | Exception) -> None:
            for row in unknown:
                if isinstance(jobs, Exception):
                    row[1:] = [StoreUnavailable.code, str(jobs)]
                elif row[0] in jobs:
                    row[1:] = [InvalidRequest.code, f"job {encode_f58(row[0])} is inactive"]
            then()

        self._archive.find([row[0] for row in unknown], found)

    @request(JobKill)
    def kill(self, body: JobKill, call: Call) -> None:
        if body.signum not in {int(s) for s in signal.valid_signals()}:
            raise InvalidRequest(f"{body.signum} is not a signal")

        def act(job: Job) -> None:
            if not job.state & RUNNING:
                raise InvalidRequest(f"job {encode_f58(job.id)} is not running")
            if job.tasks is not None:
                self._arrays.signal(job, job.tasks.running(), body.signum)
            else:
                self._board.router.request(SignalTasks(id=job.id, signum=body.signum))

        def act_on_task(job: Job, index: int) -> None:
            self._arrays.signal(job, [index], body.signum)

        touched = self._for_each(body.ids, act, act_on_task)
        self._explain(touched, lambda: call.respond(touched))

    @request(JobStdin)
    def stdin(self, body: JobStdin, call: Call) -> None:
        job = self._board[body.id]
        if not job.launched or job.finished:
            raise InvalidRequest(f"job {encode_f58(body.id)} is not running")

        def fed(reply: Message) -> None:
            error = reply.failure()
            call.respond(Settled()) if error is None else call.fail(error)

        feed = FeedTasks(id=body.id, tasks=body.tasks, data=body.data, eof=body.eof)
        self._board.router.request(feed, fed)

    @request(JobUrgency)
    def urgency(self, body: JobUrgency, call: Call) -> None:
        if not 0 <= body.urgency <= MAX_URGENCY:
            raise InvalidRequest(f"urgency {body.urgency} is not in 0 to {MAX_URGENCY}")
        job = self._board[body.id]
        old = job.urgency
        self._board.post(job, "urgency", {"urgency": body.urgency, "userid": call.message.userid})
        self._board.drive(job)
        self._board.when_settled(lambda: call.respond(JobUrgencySet(old=old)))

    # -- news from execution --------------------------------------------------------------------------------

    @request(JobReports)
    def report(self, body: JobReports, call: Call) -> None:
        for job_id, what, when, context in body.rows:
            self._board.report(job_id, what, when, context)
        self._arrays.settle()
        self._board.when_settled(lambda: call.respond(Settled()))

    # -- the end of the instance ----------------------------------------------------------------------------

    @request(StopJobs)
    def stop_all(self, body: StopJobs, call: Call) -> None:
        """Answers when no job runs any more; pending ones stay unless all are to go."""
        self._board.stopping = True
        mask = ACTIVE if body.all else RUNNING
        for job in [job for job in self._board.jobs.values() if job.state & mask]:
            # The end of one may have ended another that depends on it.
            if not job.state & ACTIVE or job.state is State.CLEANUP:
                continue
            if job.tasks is not None and not body.all:
                self._arrays.stop_running(job, "the instance is shutting down")
            else:
                self._board.raise_exception(job, "cancel", "the instance is shutting down")
        self._stop_call = call
        self._check_stopped()

    def _on_retired(self, ended: object) -> None:
        if self._stop_call is not None:
            self._check_stopped()

    def _check_stopped(self) -> None:
        if self._stop_call is not None and not self._board.census.running_count:
            call, self._stop_call = self._stop_call, None
            self._board.when_settled(lambda: call.respond(JobsEnded()))
