"""Jobs as clients see them: records, eventlogs, specs, R."""

from __future__ import annotations

import json
from typing import Any

from fluxlike.errors import InvalidRequest
from fluxlike.hostlist import Hostlist
from fluxlike.idset import Idset
from fluxlike.job.job import CANCELED_BEFORE_START, Job, result, returncode
from fluxlike.job.states import MASKS, PENDING, RESULTS, State
from fluxlike.protocol.internal import JobAlive, JobAliveReply
from fluxlike.protocol.jobs import JobInfo, JobInfoReply, JobList, JobListed, JobStats, JobStatsReply
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.service import request
from fluxlike_broker.store.load import EventRow, allocation_of, events_of

KEYS = ("eventlog", "jobspec", "R")


class Listing:
    def __init__(self, board: Board) -> None:
        self._board = board

    @request(JobList)
    def list(self, body: JobList, call: Call) -> JobListed:
        wanted = _filter(body.states)
        if body.ids:
            jobs = [self._board[job_id] for job_id in body.ids]
        else:
            found = [job for job in self._board.jobs.values() if wanted(job) and _is_of(job, body)]
            found.sort(key=_newest_first)
            jobs = found[: body.limit] if body.limit else found
        return JobListed(jobs=[self.record(job) for job in jobs])

    @request(JobAlive)
    def alive(self, body: JobAlive, call: Call) -> JobAliveReply:
        # Inactive but not yet retired still counts as alive: its last news is on the way.
        return JobAliveReply(active=self._board[body.id].eventlog is not None)

    @request(JobStats)
    def stats(self, body: JobStats, call: Call) -> JobStatsReply:
        counts = dict.fromkeys((*(s.name.lower() for s in State if s is not State.NEW), *RESULTS), 0)
        for job in self._board.jobs.values():
            if job.state is not State.NEW:
                counts[job.state.name.lower()] += 1
            if job.state is State.INACTIVE:
                counts[result(job)] += 1
        return JobStatsReply(**counts)

    def record(self, job: Job) -> dict[str, Any]:
        spec, nodes = job.spec, () if job.allocation is None else job.allocation.nodes
        kind, severity, note = job.exception or ("", -1, "")
        return {
            "id": job.id,
            "userid": job.userid,
            "urgency": job.urgency,
            "priority": job.priority,
            "state": job.state.name.lower(),
            "result": result(job),
            "name": spec.name.replace("{cc}", job.cc or ""),
            "cc": job.cc or "",
            "cwd": spec.jobspec.cwd,
            "queue": spec.jobspec.queue,
            "ntasks": spec.ntasks,
            "nnodes": len(nodes) or spec.request.nodes,
            "ncores": sum(cores.bit_count() for _, cores, _ in nodes),
            "ngpus": sum(gpus.bit_count() for _, _, gpus in nodes),
            "duration": spec.jobspec.duration,
            "expiration": job.expiration,
            "ranks": str(Idset.of(rank for rank, _, _ in nodes)) if nodes else "",
            "nodelist": str(Hostlist.of(self._board.hosts.get(rank, "?") for rank, _, _ in nodes)) if nodes else "",
            "t_submit": job.t_submit,
            "t_depend": job.t_depend,
            "t_run": job.t_run,
            "t_cleanup": job.t_cleanup,
            "t_inactive": job.t_inactive,
            "status": job.status,
            "returncode": returncode(job) if job.state is State.INACTIVE else CANCELED_BEFORE_START,
            "exception_type": kind,
            "exception_severity": severity,
            "exception_note": note,
            "dependencies": list(job.dependencies),
            "annotations": job.annotations or {},
            "reason": self._reason(job),
            "attempt": job.attempt,
        }

    def _reason(self, job: Job) -> str:
        if not job.state & PENDING:
            return ""
        if job.state is State.DEPEND:
            return "depends:" + ",".join(job.dependencies)
        if job.urgency == 0:
            return "held"
        if not self._board.queue_started:
            return f"queue stopped{': ' + self._board.stop_reason if self._board.stop_reason else ''}"
        return self._board.scheduler.reason(job.id) if job.state is State.SCHED else "priority-wait"

    @request(JobInfo)
    def info(self, body: JobInfo, call: Call) -> None:
        unknown = [key for key in body.keys if key not in KEYS]
        if unknown:
            raise InvalidRequest(f"unknown key {unknown[0]!r}; known are {', '.join(KEYS)}")
        job = self._board[body.id]
        values: dict[str, Any] = {"jobspec": json.loads(job.spec.body)} if "jobspec" in body.keys else {}
        if not {"eventlog", "R"} & set(body.keys):
            call.respond(JobInfoReply(values=values))
            return

        def look(connection: Any) -> tuple[Any, Any]:
            return events_of(connection, job.id), allocation_of(connection, job.id)

        def answer(found: Any) -> None:
            if isinstance(found, Exception):
                call.fail(found)  # type: ignore[arg-type]
                return
            events, allocation = found
            if "eventlog" in body.keys:
                values["eventlog"] = event_rows(events)
            if "R" in body.keys:
                values["R"] = None if allocation is None else json.loads(allocation)
            call.respond(JobInfoReply(values=values))

        self._board.store.query(look, answer)


def event_rows(events: list[EventRow]) -> list[Any]:
    return [[ts, name, None if context is None else json.loads(context)] for _, ts, name, context in events]


def _filter(states: list[str]) -> Any:
    """A test on jobs; states, virtual states and results may be mixed."""
    unknown = [name for name in states if name not in MASKS and name not in RESULTS]
    if unknown:
        raise InvalidRequest(f"unknown state or result {unknown[0]!r}; known are {', '.join((*MASKS, *RESULTS))}")
    if not states:
        return lambda job: True
    mask = 0
    for name in states:
        mask |= MASKS.get(name, 0)
    results = {name for name in states if name in RESULTS}
    return lambda job: bool(job.state & mask) or (job.state is State.INACTIVE and result(job) in results)


def _is_of(job: Job, body: JobList) -> bool:
    return (body.userid < 0 or job.userid == body.userid) and (not body.name or job.spec.name == body.name)


def _newest_first(job: Job) -> tuple[int, float]:
    """Pending by priority, then running, then inactive, the newest of each first."""
    if job.state & PENDING:
        return (0, -job.priority * 1e12 + job.id / 2**40)
    if job.state is State.INACTIVE:
        return (2, -job.t_inactive)
    return (1, -job.t_run)
