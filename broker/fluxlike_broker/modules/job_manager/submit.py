"""Submission: everything is checked before an id is issued, all jobs of a message are taken or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fluxlike.errors import (
    FluxlikeError,
    InvalidJobspec,
    InvalidRequest,
    StoreUnavailable,
    Unavailable,
)
from fluxlike.ids import FluidGenerator, encode_f58, following
from fluxlike.job.dependencies import SCHEMES
from fluxlike.job.job import Job
from fluxlike.job.passage import Admission
from fluxlike.job.states import State
from fluxlike.protocol.jobs import Submit, Submitted
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.board import Board, priority_of
from fluxlike_broker.modules.job_manager.specs import Spec, Specs
from fluxlike_broker.modules.job_manager.waiting import Waiting
from fluxlike_broker.service import request
from fluxlike_broker.store import history

FLAGS = frozenset({"debug", "waitable", "novalidate"})
MAX_URGENCY = 31
LONGEST_KEY = 255


class Order:
    """A submission that was found good: who asked, and what remains to be done for it."""

    __slots__ = ("calls", "count", "create", "ids", "key", "refused", "reserve")

    def __init__(self, call: Call, key: str, count: int, create: Callable[[list[int]], None], reserve: int = 0) -> None:
        """`count` ids are answered; `reserve` more are kept free behind them."""
        self.calls = [call]
        self.key = key
        self.count = count
        self.create = create
        self.reserve = reserve
        self.ids: list[int] = []
        self.refused = False

    def respond(self, ids: list[int]) -> None:
        for call in self.calls:
            call.respond(Submitted(ids=ids))

    def fail(self, error: FluxlikeError) -> None:
        for call in self.calls:
            call.fail(error)


class Submission:
    def __init__(self, board: Board, specs: Specs, waiting: Waiting) -> None:
        self._board = board
        self._specs = specs
        self._waiting = waiting
        self._fluid = FluidGenerator(lambda: int(board.clock.now() * 1000), 0)
        self._uncommitted: dict[int, Order] = {}
        """First id of a submission -> its order, until committed."""
        self._keyed: dict[str, Order] = {}
        """Key of a submission -> its order, from the look into the store until committed."""

    @request(Submit)
    def submit(self, body: Submit, call: Call) -> None:
        self.check_open()
        check_options(body.urgency, body.flags)
        check_key(body.key)
        _check_rows(body)
        specs = [self.admissible(document) for document in body.specs]
        context = submit_context(body.urgency, body.flags, call)
        order = Order(call, body.key, len(body.jobs), lambda ids: self._create(ids, body.jobs, specs, context))
        self.place(order, specs)

    def admissible(self, document: dict[str, Any]) -> Spec:
        """Raises what speaks against this jobspec."""
        spec = self._specs.intern(document)
        if spec.jobspec.queue:
            text = f"there is no queue {spec.jobspec.queue!r}: this instance has one queue, without a name"
            raise InvalidJobspec(text, "attributes.system.queue")
        self._board.scheduler.check(spec.request)
        return spec

    def check_open(self) -> None:
        if self._board.stopping:
            raise Unavailable("the instance is shutting down")
        if not self._board.queue_enabled:
            raise Unavailable(f"the queue takes no jobs: {self._board.disable_reason}")
        if self._board.store.failure is not None:
            raise StoreUnavailable(f"jobs cannot be stored now: {self._board.store.failure}")

    def number_after(self, job_id: int) -> None:
        """New ids are greater than this one, also if the clock was set back since it was issued."""
        self._fluid.advance(job_id)

    # -- from an order to jobs ------------------------------------------------------------------------------

    def place(self, order: Order, specs: list[Spec]) -> None:
        """Look up what only the store knows, then take the jobs."""
        if not order.key:
            self._when_targets_exist(order, specs)
            return
        earlier = self._keyed.get(order.key)
        if earlier is None:
            self._keyed[order.key] = order
            self._unless_done(order, specs)
        elif earlier.count != order.count:
            order.fail(_other_count(order, earlier.count))
        else:  # it is on its way: wait for it together
            earlier.calls += order.calls

    def _unless_done(self, order: Order, specs: list[Spec]) -> None:
        """A key that the store knows answers for the submission that brought it."""

        def answer(found: Any) -> None:
            if found is None:
                self._when_targets_exist(order, specs)
            elif isinstance(found, Exception):
                self._refuse(order, StoreUnavailable(str(found)))
            elif found[1] != order.count:
                self._refuse(order, _other_count(order, found[1]))
            else:
                self._forget(order)
                order.respond(following(*found))

        self._board.store.query(lambda connection: history.submission(connection, order.key), answer)

    def _when_targets_exist(self, order: Order, specs: list[Spec]) -> None:
        def checked(error: FluxlikeError | None) -> None:
            if error is None:
                self._take(order, specs)
            else:
                self._refuse(order, error)

        self._waiting.check([spec.jobspec.dependencies for spec in specs], checked)

    def _take(self, order: Order, specs: list[Spec]) -> None:
        try:
            self.check_open()
            order.ids = self._fluid.next_many(order.count, order.reserve)
        except FluxlikeError as error:
            self._refuse(order, error)
            return
        batch = self._board.store.batch
        for spec in specs:
            batch.spec(spec.digest, spec.body)
        if order.key:
            batch.key(order.key, order.ids[0], order.count, self._board.clock.now())
        self._uncommitted[order.ids[0]] = order
        order.create(order.ids)
        batch.after_commit(lambda: self._committed(order))

    def _committed(self, order: Order) -> None:
        if not order.refused:
            self._forget(order)
            order.respond(order.ids)

    def _forget(self, order: Order) -> None:
        if order.ids:
            self._uncommitted.pop(order.ids[0], None)
        self._keyed.pop(order.key, None)

    def _refuse(self, order: Order, error: FluxlikeError) -> None:
        self._forget(order)
        order.refused = True
        order.fail(error)

    def refuse_uncommitted(self, ids: set[int], reason: str) -> None:
        """The store failed before these were durable: take them back as if they had never been asked for."""
        for order in list(self._uncommitted.values()):
            if ids.isdisjoint(order.ids):
                continue
            self._refuse(order, StoreUnavailable(f"the job could not be stored: {reason}"))
        for job_id in ids:
            job = self._board.jobs.pop(job_id, None)
            if job is not None:
                self._board.scheduler.dequeue(job_id)
                self._board.scheduler.release(job_id)
                self._board.census.gone(job)
                if job.tasks is not None:
                    self._board.arrays.refuse(job)
                job.state = State.INACTIVE

    def _create(self, ids: list[int], rows: list[Any], specs: list[Spec], context: dict[str, Any]) -> None:
        board = self._board
        now = board.clock.now()
        admission = Admission(now, context, priority_of(context["urgency"]))
        batch, census = board.store.batch, board.census
        userid, urgency, flags = context["userid"], context["urgency"], ",".join(context["flags"])
        for job_id, row in zip(ids, rows, strict=True):
            spec, cc = specs[row[0]], row[1]
            job = board.jobs[job_id] = Job(job_id, spec.digest, cc)
            job.spec = spec
            batch.job((job_id, spec.digest, userid, urgency, flags, cc, now, 0))
            if spec.jobspec.dependencies or len(row) > 2:
                links = row[2] if len(row) > 2 else ()
                among_us = [{"scheme": scheme, "value": encode_f58(ids[index])} for scheme, index in links]
                self.create_one(job, context, now, among_us)
                continue
            admission.admit(job)
            census.moved(job, None)
            board.record(job, 0, admission.text)
            board.scheduler.enqueue(job_id, spec.request, job.priority)
        board.schedule_soon()
        board.flush_soon()

    def create_one(self, job: Job, context: dict[str, Any], now: float, links: Iterable[dict[str, str]] = ()) -> None:
        """Event by event. `links`: dependencies beside those of the jobspec."""
        board = self._board
        board.post(job, "submit", context, now)
        board.post(job, "validate", None, now)
        self._waiting.add(job, [*job.spec.jobspec.dependencies, *links])
        if job.state is State.DEPEND:
            board.drive(job)


def submit_context(urgency: int, flags: list[str], call: Call) -> dict[str, Any]:
    """Of the submit event."""
    return {"urgency": urgency, "userid": call.message.userid, "flags": flags, "version": 1}


def check_options(urgency: int, flags: list[str]) -> None:
    if not 0 <= urgency <= MAX_URGENCY:
        raise InvalidRequest(f"urgency {urgency} is not in 0 to {MAX_URGENCY}")
    unknown = set(flags) - FLAGS
    if unknown:
        raise InvalidRequest(f"unknown flag {sorted(unknown)[0]!r}; known are {', '.join(sorted(FLAGS))}")


def check_key(key: str) -> None:
    """Every store must be able to hold it, and to look it up."""
    if len(key) > LONGEST_KEY or "\0" in key:
        raise InvalidRequest(f"the key of a submission has at most {LONGEST_KEY} characters, none of them NUL")


def _check_rows(body: Submit) -> None:
    if not body.jobs:
        raise InvalidRequest("job.submit: jobs is empty")
    specs = len(body.specs)
    for number, row in enumerate(body.jobs):
        if not _is_row(row, specs):
            raise InvalidRequest(f"job.submit: jobs[{number}] must be [index into specs, text without NUL or nil]")
        if len(row) == 3:
            _check_links(row[2], number)


def _is_row(row: Any, specs: int) -> bool:
    return (
        isinstance(row, (list, tuple))
        and 2 <= len(row) <= 3
        and type(row[0]) is int
        and 0 <= row[0] < specs
        and (row[1] is None or (isinstance(row[1], str) and "\0" not in row[1]))
    )


def _check_links(links: Any, number: int) -> None:
    """Dependencies on other jobs of the same message: only on earlier ones, so there can be no circle."""
    if not isinstance(links, (list, tuple)):
        raise InvalidRequest(f"job.submit: jobs[{number}][2] must be a list of [scheme, index into jobs]")
    for link in links:
        if not _is_link(link):
            known = ", ".join(sorted(SCHEMES))
            raise InvalidRequest(f"job.submit: jobs[{number}][2] must be a list of [scheme, index]; schemes: {known}")
        if not 0 <= link[1] < number:
            raise InvalidRequest(f"job.submit: jobs[{number}] can depend on jobs 0 to {number - 1}, not on {link[1]}")


def _is_link(link: Any) -> bool:
    return (
        isinstance(link, (list, tuple))
        and len(link) == 2
        and isinstance(link[0], str)
        and link[0] in SCHEMES
        and type(link[1]) is int
    )


def _other_count(order: Order, count: int) -> InvalidRequest:
    return InvalidRequest(
        f"the key {order.key!r} was used for a submission of {count} jobs; this one has {order.count}: take a new key"
    )
