"""The leader of execution on rank 0: tells executors what to start and end, and the job manager what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from fluxlike.clock import Clock
from fluxlike.errors import InvalidRequest, NotFound, Unavailable
from fluxlike.ids import encode_f58
from fluxlike.protocol.execution import (
    ExecAck,
    ExecHello,
    ExecHelloReply,
    ExecResults,
    ExecSignal,
    ExecStart,
    ExecStdin,
)
from fluxlike.protocol.internal import (
    EndTasks,
    FeedTasks,
    JobReports,
    Launch,
    NodeJoined,
    Settled,
    SignalTasks,
)
from fluxlike.protocol.message import Message
from fluxlike_broker.call import Call
from fluxlike_broker.modules.execution.runs import LOST_STATUS, Run
from fluxlike_broker.router import Router
from fluxlike_broker.service import request

log = logging.getLogger("fluxlike.exec")


SPECS_KEPT = 128
"""Specs that an executor is trusted to have: half of what it keeps (docs/rfc/003)."""


class Notebook(Protocol):
    """The part of the store this module writes to."""

    def put(self, key: str, value: str) -> None: ...


class RankState:
    __slots__ = ("_told", "epoch", "host", "last", "online", "since", "timer")

    def __init__(self) -> None:
        self.epoch = ""
        self.host = "?"
        self.since = 0.0
        """Wall time at which this life of the executor was first seen."""
        self.last = 0
        """Highest result number taken from this life."""
        self.online = False
        self.timer: asyncio.TimerHandle | None = None
        self._told: dict[str, None] = {}
        """Digests of specs that its executor has, the last told last."""

    def untold(self, specs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Those that must go with the next message."""
        told = self._told
        fresh = {digest: spec for digest, spec in specs.items() if digest not in told}
        told.update(dict.fromkeys(fresh))
        while len(told) > SPECS_KEPT:
            del told[next(iter(told))]
        return fresh

    def forget_told(self) -> None:
        """What was on its way may be lost."""
        self._told.clear()


class ExecutionLeader:
    def __init__(self, router: Router, clock: Clock, notes: Callable[[], Notebook], lost_grace: float) -> None:
        self._router = router
        self._clock = clock
        self._notes = notes
        self._grace = lost_grace
        self._ranks: dict[int, RankState] = {}
        self._runs: dict[int, Run] = {}
        self._outbox: dict[int, list[Run]] = {}
        router.subscribe("overlay.left", self._on_left)

    def remember(self, state: dict[str, str]) -> None:
        """Which executor lives were seen before rank 0 restarted."""
        for key, value in state.items():
            if key.startswith("executor."):
                rank = self._rank(int(key.removeprefix("executor.")))
                rank.epoch, since = value.split()
                rank.since = float(since)

    def _rank(self, rank: int) -> RankState:
        state = self._ranks.get(rank)
        if state is None:
            state = self._ranks[rank] = RankState()
        return state

    # -- from the job manager -------------------------------------------------------------------------------

    @request(Launch)
    def launch(self, body: Launch, call: Call) -> None:
        for row in body.rows:
            run = self._runs[row.id] = Run(row)
            for rank, *_ in row.nodes:
                state = self._rank(rank)
                if rank in run.followers:
                    continue
                if state.online and not row.adopt:
                    self._queue_start(run, rank)
                else:
                    self._await_rank(rank)

    def _queue_start(self, run: Run, rank: int) -> None:
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._send_starts)
        run.epochs[rank] = self._ranks[rank].epoch
        self._outbox.setdefault(rank, []).append(run)

    def _send_starts(self) -> None:
        outbox, self._outbox = self._outbox, {}
        for rank, runs in outbox.items():
            specs = self._rank(rank).untold(dict(run.spec_for(rank) for run in runs))
            rows = [run.start_row(rank) for run in runs]
            self._router.request(ExecStart(specs=specs, jobs=rows), nodeid=rank)

    @request(EndTasks)
    def end(self, body: EndTasks, call: Call) -> None:
        self._send_starts()  # a kill must not overtake its start
        signals: dict[int, list[Any]] = {}
        for job_id, signum in body.rows:
            run = self._runs.get(job_id)
            if run is None or run.ending:
                continue
            run.ending = signum
            followers, run.followers = run.followers, []
            for rank in followers:
                self._end_unstarted(run, rank)
            for rank in run.unfinished:
                signals.setdefault(rank, []).append([*run.key, signum, True])
        for rank, rows in signals.items():
            self._router.request(ExecSignal(signals=rows), nodeid=rank)

    @request(SignalTasks)
    def signal(self, body: SignalTasks, call: Call) -> Settled:
        run = self._running(body.id)
        self._send_starts()
        for rank in run.unfinished:
            self._router.request(ExecSignal(signals=[[*run.key, body.signum, False]]), nodeid=rank)
        return Settled()

    @request(FeedTasks)
    def feed(self, body: FeedTasks, call: Call) -> Settled:
        run = self._running(body.id)
        self._send_starts()
        wanted = set(body.tasks)
        for rank, first, count, *_ in run.row.nodes:
            here = sorted(wanted & set(range(first, first + count)))
            if rank in run.unfinished and (here or not wanted):
                piece = ExecStdin(id=run.row.id, attempt=run.row.attempt, tasks=here, data=body.data, eof=body.eof)
                self._router.request(piece, nodeid=rank)
        return Settled()

    def _running(self, job_id: int) -> Run:
        run = self._runs.get(job_id)
        if run is None:
            raise NotFound(f"job {encode_f58(job_id)} is not running")
        return run

    # -- from the ranks -------------------------------------------------------------------------------------

    @request(ExecHello)
    def hello(self, body: ExecHello, call: Call) -> ExecHelloReply:
        if body.rank != call.message.route[0]:
            raise InvalidRequest(f"rank {call.message.route[0]} spoke for rank {body.rank}")
        state = self._rank(body.rank)
        state.host = body.host
        state.forget_told()
        if state.timer is not None:
            state.timer.cancel()
            state.timer = None
        if state.epoch != body.epoch:
            state.epoch, state.since, state.last = body.epoch, self._clock.now(), 0
            self._notes().put(f"executor.{body.rank}", f"{body.epoch} {state.since!r}")
        state.online = True
        held = {(job, attempt) for job, attempt, _ in body.jobs}
        for run in [run for run in self._runs.values() if body.rank in run.unfinished]:
            if tuple(run.key) in held:
                self._found(run, body.rank)
            elif body.rank not in run.followers:
                self._settle(run, body.rank)
        wanted = {(r.row.id, r.row.attempt) for r in self._runs.values() if body.rank in r.unfinished}
        self._router.request(NodeJoined(rank=body.rank, host=body.host, cores=body.cores, gpus=body.gpus))
        unwanted = [(job, attempt) for job, attempt, what in body.jobs if what == "running"]
        return ExecHelloReply(kill=[list(key) for key in unwanted if key not in wanted])

    def _found(self, run: Run, rank: int) -> None:
        """A rank is back and has the tasks: they go on. Its news of their start may have been acknowledged before a
        restart of rank 0, and then does not come again."""
        run.epochs[rank] = self._ranks[rank].epoch
        if rank in run.followers:
            run.followers.remove(rank)
        reports: list[Any] = []
        if run.row.adopt:
            self._on_started(run, rank, self._clock.now(), reports)
        if reports:
            self._router.request(JobReports(rows=reports))
        if run.ending:
            self._router.request(ExecSignal(signals=[[*run.key, run.ending, True]]), nodeid=rank)

    def _settle(self, run: Run, rank: int) -> None:
        """A rank is back without the tasks: they were never started, or died with the executor."""
        state = self._ranks[rank]
        if run.epochs.get(rank) == state.epoch or (rank not in run.epochs and self._never_told(run, state)):
            if run.ending:
                self._end_unstarted(run, rank)
            else:
                self._queue_start(run, rank)
        else:
            self._lose(run, rank, f"the executor of rank {rank} ({state.host}) was restarted")

    def _never_told(self, run: Run, state: RankState) -> bool:
        """Is it certain that the start reached no executor? Before a restart of rank 0 it may have been sent; but
        then the executor that was alive at the alloc, and still is, would know the job."""
        return not run.row.adopt or (not run.row.started and state.since < run.row.allocated_at)

    def _end_unstarted(self, run: Run, rank: int) -> None:
        """The job was cancelled before its start got here: nothing is started, and the signal is its end."""
        if run.finished(rank, [run.ending]):
            del self._runs[run.row.id]
            row = (run.row.id, "finish", self._clock.now(), {"status": run.status})
            self._router.request(JobReports(rows=[row]))

    @request(ExecResults)
    def results(self, body: ExecResults, call: Call) -> None:
        state = self._rank(body.rank)
        if state.epoch != body.epoch or not state.online:
            raise Unavailable("say hello first")
        reports: list[Any] = []
        for sequence, job_id, attempt, what, when, *rest in body.results:
            if sequence <= state.last:
                continue
            state.last = sequence
            run = self._runs.get(job_id)
            if run is None or run.row.attempt != attempt:
                continue
            if what == "started":
                self._on_started(run, body.rank, when, reports)
            else:
                self._on_finished(run, body.rank, when, rest[0], rest[1], reports)
        answer = ExecAck(sequence=state.last)
        self._router.request(JobReports(rows=reports), lambda settled: self._acknowledge(call, settled, answer))

    def _acknowledge(self, call: Call, settled: Message, answer: ExecAck) -> None:
        error = settled.failure()
        if error is None:
            call.respond(answer)
        else:
            call.fail(error)

    def _on_started(self, run: Run, rank: int, when: float, reports: list[Any]) -> None:
        if rank == run.first and run.followers:
            followers, run.followers = run.followers, []
            for follower in followers:
                if self._rank(follower).online:
                    self._queue_start(run, follower)
                else:
                    self._await_rank(follower)
        if run.started(rank):
            reports.append((run.row.id, "start", when, None))

    def _on_finished(
        self, run: Run, rank: int, when: float, statuses: list[int], error: str, reports: list[Any]
    ) -> None:
        if error:
            reports.append((run.row.id, "exception", when, {"type": "exec", "severity": 0, "note": error}))
        self._ended(run, rank, when, statuses, reports)

    def _ended(self, run: Run, rank: int, when: float, statuses: list[int], reports: list[Any]) -> None:
        """Also of one rank among others this must be on record before it is acknowledged: nobody says it again."""
        if rank not in run.unfinished:
            return
        if run.finished(rank, statuses):
            del self._runs[run.row.id]
            reports.append((run.row.id, "finish", when, {"status": run.status}))
        else:
            ended = {"rank": rank, "status": max(statuses, default=0)}
            reports.append((run.row.id, "memo", when, {"ended": ended}))

    # -- lost ranks -----------------------------------------------------------------------------------------

    def _on_left(self, name: str, body: Any, sequence: int) -> None:
        for rank in body["ranks"]:
            state = self._rank(rank)
            state.online = False
            if any(rank in run.unfinished for run in self._runs.values()):
                self._await_rank(rank, 0.0 if body["cleanly"] else self._grace)

    def _await_rank(self, rank: int, grace: float | None = None) -> None:
        """Give a rank that holds tasks time to come back; then its jobs fail."""
        state = self._rank(rank)
        if state.timer is None and not state.online:
            loop = asyncio.get_running_loop()
            state.timer = loop.call_later(self._grace if grace is None else grace, self._give_up, rank)

    def _give_up(self, rank: int) -> None:
        state = self._ranks[rank]
        state.timer = None
        for run in [run for run in self._runs.values() if rank in run.unfinished]:
            self._lose(run, rank, f"rank {rank} ({state.host}) is lost")

    def _lose(self, run: Run, rank: int, note: str) -> None:
        log.error("job %s: %s", encode_f58(run.row.id), note)
        now = self._clock.now()
        reports: list[Any] = [(run.row.id, "exception", now, {"type": "node-failure", "severity": 0, "note": note})]
        run.unstarted.discard(rank)
        self._ended(run, rank, now, [LOST_STATUS], reports)
        self._router.request(JobReports(rows=reports))
