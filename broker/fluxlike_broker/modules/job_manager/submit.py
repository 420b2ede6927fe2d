"""Submission: everything is checked before an id is issued, all jobs of a message are taken or none."""

from __future__ import annotations

from typing import Any

from fluxlike.errors import InvalidJobspec, InvalidRequest, StoreUnavailable, Unavailable
from fluxlike.ids import FluidGenerator
from fluxlike.job.job import Job
from fluxlike.job.states import State
from fluxlike.protocol.jobs import Submit, Submitted
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.specs import Spec, Specs
from fluxlike_broker.modules.job_manager.waiting import Waiting
from fluxlike_broker.service import request

FLAGS = frozenset({"debug", "waitable", "novalidate"})
MAX_URGENCY = 31


class Ticket:
    """A submission whose commit is awaited."""

    __slots__ = ("call", "ids", "refused")

    def __init__(self, call: Call, ids: list[int]) -> None:
        self.call = call
        self.ids = ids
        self.refused = False

    def accept(self) -> None:
        if not self.refused:
            self.call.respond(Submitted(ids=self.ids))


class Submission:
    def __init__(self, board: Board, specs: Specs, waiting: Waiting) -> None:
        self._board = board
        self._specs = specs
        self._waiting = waiting
        self._fluid = FluidGenerator(lambda: int(board.clock.now() * 1000), 0)
        self._tickets: dict[int, Ticket] = {}
        """First id of a submission -> its ticket, until committed."""

    @request(Submit)
    def submit(self, body: Submit, call: Call) -> None:
        self._check_open()
        self._check_request(body)
        specs = [self._specs.intern(document) for document in body.specs]
        for spec in specs:
            _check_queue(spec)
            self._board.scheduler.check(spec.request)
            self._waiting.check(spec.jobspec.dependencies)
        ids = self._fluid.next_many(len(body.jobs))
        batch = self._board.store.batch
        for spec in specs:
            batch.spec(spec.digest, spec.body)
        context = {"urgency": body.urgency, "userid": call.message.userid, "flags": body.flags, "version": 1}
        ticket = self._tickets[ids[0]] = Ticket(call, ids)
        for job_id, (index, cc) in zip(ids, body.jobs, strict=True):
            self._create(job_id, specs[index], cc, context)
        batch.after_commit(lambda: self._committed(ticket))

    def number_after(self, job_id: int) -> None:
        """New ids are greater than this one, also if the clock was set back since it was issued."""
        self._fluid.advance(job_id)

    def _committed(self, ticket: Ticket) -> None:
        self._tickets.pop(ticket.ids[0], None)
        ticket.accept()

    def _check_open(self) -> None:
        if self._board.stopping:
            raise Unavailable("the instance is shutting down")
        if self._board.store.failure is not None:
            raise StoreUnavailable(f"jobs cannot be stored now: {self._board.store.failure}")

    def _check_request(self, body: Submit) -> None:
        if not body.jobs:
            raise InvalidRequest("job.submit: jobs is empty")
        if not 0 <= body.urgency <= MAX_URGENCY:
            raise InvalidRequest(f"urgency {body.urgency} is not in 0 to {MAX_URGENCY}")
        unknown = set(body.flags) - FLAGS
        if unknown:
            raise InvalidRequest(f"unknown flag {sorted(unknown)[0]!r}; known are {', '.join(sorted(FLAGS))}")
        for number, row in enumerate(body.jobs):
            if not _is_row(row, len(body.specs)):
                raise InvalidRequest(f"job.submit: jobs[{number}] must be [index into specs, text or nil]")

    def _create(self, job_id: int, spec: Spec, cc: str | None, context: dict[str, Any]) -> None:
        board = self._board
        job = board.jobs[job_id] = Job(job_id, spec.digest, cc)
        job.spec = spec
        now = board.clock.now()
        board.store.batch.job(
            job_id, spec.digest, context["userid"], context["urgency"], ",".join(context["flags"]), cc, now
        )
        board.post(job, "submit", context, now)
        board.post(job, "validate", None, now)
        if spec.jobspec.dependencies:
            self._waiting.add(job)
        if job.state is State.DEPEND:
            board.drive(job)

    def refuse_uncommitted(self, ids: set[int], reason: str) -> None:
        """The store failed before these were durable: take them back as if they had never been asked for."""
        for ticket in list(self._tickets.values()):
            if ids.isdisjoint(ticket.ids):
                continue
            del self._tickets[ticket.ids[0]]
            ticket.refused = True
            ticket.call.fail(StoreUnavailable(f"the job could not be stored: {reason}"))
        for job_id in ids:
            job = self._board.jobs.pop(job_id, None)
            if job is not None:
                self._board.scheduler.dequeue(job_id)
                self._board.scheduler.release(job_id)
                job.state = State.INACTIVE


def _check_queue(spec: Spec) -> None:
    if spec.jobspec.queue:
        text = f"there is no queue {spec.jobspec.queue!r}: this instance has one queue, without a name"
        raise InvalidJobspec(text, "attributes.system.queue")


def _is_row(row: Any, specs: int) -> bool:
    return (
        isinstance(row, (list, tuple))
        and len(row) == 2
        and isinstance(row[0], int)
        and 0 <= row[0] < specs
        and (row[1] is None or isinstance(row[1], str))
    )
