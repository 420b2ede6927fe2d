"""Jobs as clients see them: records, eventlogs, specs, R."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from fluxlike.errors import FluxlikeError, InvalidRequest, NotFound, StoreUnavailable
from fluxlike.hostlist import Hostlist
from fluxlike.ids import encode_f58, tick_of
from fluxlike.idset import Idset
from fluxlike.job.array import DONE
from fluxlike.job.eventlog import parse
from fluxlike.job.job import CANCELED_BEFORE_START, Job, result, returncode
from fluxlike.job.states import ACTIVE, MASKS, PENDING, RESULTS, RUNNING, State
from fluxlike.protocol.internal import JobAlive, JobAliveReply
from fluxlike.protocol.jobs import JobInfo, JobInfoReply, JobList, JobListed, JobStats, JobStatsReply
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.archive import Archive
from fluxlike_broker.modules.job_manager.arrays import Arrays
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.orders import Orders
from fluxlike_broker.modules.job_manager.specs import name_of
from fluxlike_broker.service import request
from fluxlike_broker.store import history

KEYS = ("eventlog", "jobspec", "R")

LARGEST_PAGE = 10_000
"""Records in one answer: more would keep everybody else waiting."""


class Listing:
    def __init__(self, board: Board, archive: Archive, arrays: Arrays) -> None:
        self._board = board
        self._archive = archive
        self._arrays = arrays
        self._orders = Orders()
        self._places: dict[tuple[int, ...], tuple[str, str]] = {}
        self._hosts_known = 0

    @request(JobList)
    def list_jobs(self, body: JobList, call: Call) -> None:
        if body.ids:
            self._by_id(body.ids, call)
            return
        if body.limit < 0:
            raise InvalidRequest(f"limit {body.limit} is not a number of jobs")
        mask, results = _wanted(body.states)
        limit = min(body.limit or LARGEST_PAGE, LARGEST_PAGE)
        start, order, before = _beginning(body.cursor)
        active: list[Job] = []
        if start is not None:
            active, cursor = self._active_page(mask, body, start, order, limit)
            if cursor:
                call.respond(JobListed(jobs=[self.record(job) for job in active], cursor=cursor))
                return
        if not results:
            call.respond(JobListed(jobs=[self.record(job) for job in active]))
            return
        wanted = history.Filter(
            results=() if len(results) == len(RESULTS) else results,
            userid=body.userid,
            name=body.name,
            since=body.since,
            before=before,
        )
        self._with_inactive(active, wanted, limit - len(active), call)

    def _by_id(self, ids: list[int], call: Call) -> None:
        def found(jobs: dict[int, Job] | Exception) -> None:
            if isinstance(jobs, Exception):
                call.fail(store_error(jobs))
                return
            missing = [job_id for job_id in ids if job_id not in jobs]
            if missing:
                call.fail(NotFound(f"there is no job {encode_f58(missing[0])}"))
            else:
                call.respond(JobListed(jobs=[self.record(jobs[job_id]) for job_id in ids]))

        self._archive.find(ids, found)

    def _active_page(self, mask: int, body: JobList, start: int, number: int, limit: int) -> tuple[list[Job], str]:
        """Some of the active jobs, and the cursor for more of them. The first page is cheap, however many there are."""
        if not start:
            found = list(islice(self._active(mask, body), limit + 1))
            return found[:limit], f"a:{limit}" if len(found) > limit else ""
        order = self._orders.find(number)
        if order is None:
            order = [job.id for job in self._active(mask, body)]
            number = self._orders.keep(order)
        page: list[Job] = []
        for at in range(start, len(order)):
            job = self._board.jobs.get(order[at])
            if job is None or not job.state & mask & ACTIVE:
                continue  # it has ended since, and is listed there
            if len(page) == limit:
                return page, f"a:{at}:{number}"
            page.append(job)
        self._orders.drop(number)
        return page, ""

    def _active(self, mask: int, body: JobList) -> Iterator[Job]:
        """Pending jobs in the order they go, then those that wait for others, then running ones, the newest first."""
        census = self._board.census
        if mask & State.SCHED:
            yield from (job for job in self._in_queue(body) if _is_of(job, body))
        early = sorted(census.early.values(), key=lambda job: job.id)
        yield from (job for job in early if job.state & mask and _is_of(job, body))
        if mask & RUNNING:
            running = sorted(census.running.values(), key=lambda job: (-job.t_run, -job.id))
            yield from (job for job in running if job.state & mask and _is_of(job, body))

    def _in_queue(self, body: JobList) -> Iterable[Job]:
        jobs = self._board.jobs
        if not body.name:
            # An array some of whose tasks run is in the queue for the others, and listed where it runs.
            order = (jobs[job_id] for job_id in self._board.scheduler.in_order())
            return (job for job in order if job.state is State.SCHED)
        # Few of many, probably: putting only those in order is cheaper.
        found = [job for job in jobs.values() if job.state is State.SCHED and name_of(job) == body.name]
        return sorted(found, key=lambda job: (-job.priority, job.id))

    def _with_inactive(self, active: list[Job], wanted: history.Filter, room: int, call: Call) -> None:
        def answer(ended: list[Job] | Exception) -> None:
            if isinstance(ended, Exception):
                call.fail(store_error(ended))
                return
            cursor = ""
            if len(ended) > room:
                ended = ended[:room]
                cursor = f"i:{ended[-1].t_inactive!r}:{ended[-1].id}" if ended else "i:"
            call.respond(JobListed(jobs=[self.record(job) for job in (*active, *ended)], cursor=cursor))

        self._archive.page(wanted, room + 1, answer)

    @request(JobAlive)
    def alive(self, body: JobAlive, call: Call) -> None:
        task = self._arrays.find(body.id)
        if task is not None:
            tasks = task[0].tasks
            assert tasks is not None
            call.respond(JobAliveReply(active=tasks.states[task[1]] < DONE and not task[0].retired))
            return

        # Inactive but not yet retired still counts as alive: its last news is on the way.
        def found(jobs: dict[int, Job] | Exception) -> None:
            if isinstance(jobs, Exception):
                call.fail(store_error(jobs))
            elif body.id in jobs:
                call.respond(JobAliveReply(active=not jobs[body.id].retired))
            else:
                self._perhaps_a_task(body.id, call)

        self._archive.find([body.id], found)

    def _perhaps_a_task(self, key: int, call: Call) -> None:
        """Of an array that ended long ago."""

        def answer(found: Any) -> None:
            if isinstance(found, Exception):
                call.fail(store_error(found))
            elif found is not None and 0 < tick_of(key) - tick_of(found[0]) <= found[1]:
                call.respond(JobAliveReply(active=False))
            else:
                call.fail(NotFound(f"there is no job {encode_f58(key)}"))

        self._board.store.query(lambda connection: history.at_or_before(connection, key), answer)

    @request(JobStats)
    def stats(self, body: JobStats, call: Call) -> JobStatsReply:
        census = self._board.census
        counts = {state.name.lower(): count for state, count in census.states.items() if state is not State.NEW}
        return JobStatsReply(**counts, **census.results)

    def record(self, job: Job) -> dict[str, Any]:
        spec, nodes = job.spec, () if job.allocation is None else job.allocation.nodes
        kind, severity, note = job.exception or ("", -1, "")
        ranks, nodelist = self._place(nodes) if nodes else ("", "")
        return {
            "id": job.id,
            "userid": job.userid,
            "urgency": job.urgency,
            "priority": job.priority,
            "state": job.state.name.lower(),
            "result": result(job),
            "name": name_of(job),
            "cc": job.cc or "",
            "cwd": spec.jobspec.cwd,
            "queue": spec.jobspec.queue,
            "ntasks": spec.ntasks,
            "nnodes": len(nodes) or spec.request.nodes,
            "ncores": sum(cores.bit_count() for _, cores, _ in nodes),
            "ngpus": sum(gpus.bit_count() for _, _, gpus in nodes),
            "duration": spec.jobspec.duration,
            "expiration": job.expiration,
            "ranks": ranks,
            "nodelist": nodelist,
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
            "array": 0 if job.tasks is None else job.tasks.count,
            "tasks": {} if job.tasks is None else job.tasks.tally(),
        }

    def _place(self, nodes: tuple[tuple[int, int, int], ...]) -> tuple[str, str]:
        """Ranks and hosts as text. Most jobs run where others did."""
        ranks = tuple(rank for rank, _, _ in nodes)
        hosts = self._board.hosts
        if self._hosts_known != self._board.hosts_known or len(self._places) > LARGEST_PAGE:
            self._places.clear()
            self._hosts_known = self._board.hosts_known
        found = self._places.get(ranks)
        if found is None:
            found = (str(Idset.of(ranks)), str(Hostlist.of(hosts.get(rank, "?") for rank in ranks)))
            self._places[ranks] = found
        return found

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

        def found(jobs: dict[int, Job] | Exception) -> None:
            if isinstance(jobs, Exception):
                call.fail(store_error(jobs))
            elif body.id not in jobs:
                call.fail(NotFound(f"there is no job {encode_f58(body.id)}"))
            else:
                self._tell(jobs[body.id], body.keys, call)

        self._archive.find([body.id], found)

    def _tell(self, job: Job, keys: list[str], call: Call) -> None:
        values: dict[str, Any] = {"jobspec": json.loads(job.spec.body)} if "jobspec" in keys else {}
        if not {"eventlog", "R"} & set(keys):
            call.respond(JobInfoReply(values=values))
            return

        def look(connection: Any) -> tuple[Any, Any]:
            return history.log_of(connection, job.id), history.allocation_of(connection, job.id)

        def answer(found: Any) -> None:
            if isinstance(found, Exception):
                call.fail(store_error(found))
                return
            log, allocation = found
            if "eventlog" in keys:
                values["eventlog"] = parse(log)
            if "R" in keys:
                values["R"] = None if allocation is None else json.loads(allocation)
            call.respond(JobInfoReply(values=values))

        self._board.store.query(look, answer)


def store_error(error: Exception) -> FluxlikeError:
    return error if isinstance(error, FluxlikeError) else StoreUnavailable(str(error))


def _wanted(states: list[str]) -> tuple[int, set[str]]:
    """States of active jobs as a mask, and results of inactive ones; names of both may be mixed."""
    unknown = [name for name in states if name not in MASKS and name not in RESULTS]
    if unknown:
        raise InvalidRequest(f"unknown state or result {unknown[0]!r}; known are {', '.join((*MASKS, *RESULTS))}")
    mask = 0
    for name in states or MASKS:
        mask |= MASKS.get(name, 0)
    results = set(RESULTS) if mask & State.INACTIVE else {name for name in states if name in RESULTS}
    return mask, results


def _is_of(job: Job, body: JobList) -> bool:
    return (body.userid < 0 or job.userid == body.userid) and (not body.name or name_of(job) == body.name)


def _beginning(cursor: str) -> tuple[int | None, int, tuple[float, int] | None]:
    """Where a page begins: after so many active jobs (None: all) of which order, and after which inactive one."""
    place, _, rest = cursor.partition(":")
    try:
        if place == "i":
            return None, 0, _position(rest) if rest else None
        start, _, order = rest.partition(":")
        at, number = int(start or 0), int(order or 0)
        if place == ("a" if cursor else "") and 0 <= at < history.LARGEST_ID and number >= 0:
            return at, number, None
    except ValueError:
        pass
    raise InvalidRequest(f"{cursor!r} is not a cursor of job.list")


def _position(text: str) -> tuple[float, int]:
    """Raises ValueError."""
    when, _, number = text.partition(":")
    ended, job_id = float(when), int(number)
    if not math.isfinite(ended) or not 0 <= job_id <= history.LARGEST_ID:
        raise ValueError(text)
    return ended, job_id
