"""Changing an active job: its time limit and its name."""

from __future__ import annotations

from typing import Any

from fluxlike.errors import InvalidRequest, PermissionDenied
from fluxlike.ids import encode_f58
from fluxlike.job.job import Job
from fluxlike.job.states import PENDING, State
from fluxlike.jobspec.update import DURATION, PATHS, changes
from fluxlike.protocol.jobs import JobUpdate, JobUpdated
from fluxlike.protocol.message import ROLE_OWNER
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.arrays import Arrays
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.specs import Specs
from fluxlike_broker.service import request


class Update:
    def __init__(self, board: Board, specs: Specs, arrays: Arrays) -> None:
        self._board = board
        self._specs = specs
        self._arrays = arrays

    @request(JobUpdate)
    def update(self, body: JobUpdate, call: Call) -> None:
        board = self._board
        job = board[body.id]
        _check(job, call)
        values = changes(body.updates, job.spec.jobspec.duration)
        spec = self._specs.updated(job.spec, values)
        if DURATION in values:
            self._check_time(job, values[DURATION])
        board.post(job, "jobspec-update", values)
        job.spec = spec
        if DURATION in values and job.state is State.RUN:
            self._limit(job, values[DURATION])
        if job.state & PENDING:
            board.drive(job)
        reply = JobUpdated(updates={key: values[PATHS[key]] for key in body.updates})
        board.when_settled(lambda: call.respond(reply))

    def _check_time(self, job: Job, duration: float) -> None:
        """Of a job that runs, what is to come can be changed, not what is gone. An array has many such times."""
        ran = self._board.clock.now() - job.t_run
        if duration and job.state is State.RUN and job.tasks is None and duration <= ran:
            text = f"job {encode_f58(job.id)} has run for {ran:.0f} s already; `fluxlike cancel` ends it"
            raise InvalidRequest(f"duration: {text}")

    def _limit(self, job: Job, duration: float) -> None:
        board = self._board
        if job.tasks is not None:
            self._arrays.set_time_limits(job)
            return
        expiration = job.t_run + duration if duration else 0.0
        board.store.batch.allocation(job.id, board.r_text(job.allocation, job.t_run, expiration))
        board.post(job, "resource-update", {"expiration": expiration})
        board.set_time_limit(job)


def _check(job: Job, call: Call) -> None:
    name = encode_f58(job.id)
    message: Any = call.message
    if message.userid != job.userid and not message.roles & ROLE_OWNER:
        raise PermissionDenied(f"job {name} belongs to another user")
    if job.state in (State.CLEANUP, State.INACTIVE):
        raise InvalidRequest(f"job {name} {'is ending' if job.state is State.CLEANUP else 'is inactive'}")
