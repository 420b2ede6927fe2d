"""Tasks of array jobs as clients see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from fluxlike.errors import InvalidRequest, NotFound
from fluxlike.hostlist import Hostlist
from fluxlike.ids import encode_f58
from fluxlike.idset import Idset
from fluxlike.job.array import PENDING, STATE_NAMES, TaskTable
from fluxlike.job.job import CANCELED_BEFORE_START, Job
from fluxlike.job.states import MASKS, RESULTS, State
from fluxlike.protocol.jobs import JobTasks, JobTasksListed
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.archive import Archive
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.listing import LARGEST_PAGE, store_error
from fluxlike_broker.service import request


class TaskListing:
    def __init__(self, board: Board, archive: Archive) -> None:
        self._board = board
        self._archive = archive

    @request(JobTasks)
    def tasks(self, body: JobTasks, call: Call) -> None:
        unknown = [name for name in body.states if name not in MASKS and name not in RESULTS]
        if unknown:
            raise InvalidRequest(f"unknown state or result {unknown[0]!r}; known are {', '.join((*MASKS, *RESULTS))}")
        limit = min(body.limit or LARGEST_PAGE, LARGEST_PAGE)

        def found(jobs: dict[int, Job] | Exception) -> None:
            if isinstance(jobs, Exception):
                call.fail(store_error(jobs))
                return
            job = jobs.get(body.id)
            if job is None:
                call.fail(NotFound(f"there is no job {encode_f58(body.id)}"))
            elif job.tasks is None:
                call.fail(InvalidRequest(f"job {encode_f58(body.id)} is not an array: it has no tasks to list"))
            else:
                chosen = islice(_chosen(job.tasks, job, set(body.states), body.first), limit)
                call.respond(JobTasksListed(tasks=[self._record(job, job.tasks, index) for index in chosen]))

        self._archive.find([body.id], found)

    def _record(self, job: Job, tasks: TaskTable, index: int) -> dict[str, Any]:
        began, ended = tasks.times(index)
        nodes = tasks.nodes.get(index, [])
        status = tasks.statuses[index]
        hosts = self._board.hosts
        return {
            "index": index,
            "id": tasks.key(index),
            "cc": tasks.cc(index),
            "state": _state(tasks, job, index),
            "result": _result(tasks, job, index),
            "status": status,
            "returncode": _returncode(status),
            "ranks": str(Idset.of(rank for rank, _, _ in nodes)),
            "nodelist": str(Hostlist.of(hosts.get(rank, "?") for rank, _, _ in nodes)) if nodes else "",
            "t_run": began,
            "t_inactive": ended,
        }


def _state(tasks: TaskTable, job: Job, index: int) -> str:
    """One that waits is where its array is, or in the queue while others run."""
    state = tasks.states[index]
    if state == PENDING and job.state is not State.RUN:
        return job.state.name.lower()
    return STATE_NAMES[state]


def _result(tasks: TaskTable, job: Job, index: int) -> str:
    if tasks.states[index] == PENDING and job.state is State.INACTIVE:
        return "canceled"
    return tasks.result(index)


def _returncode(status: int) -> int:
    if status < 0:
        return CANCELED_BEFORE_START
    return 128 + (status & 0x7F) if status & 0x7F else status >> 8


def _chosen(tasks: TaskTable, job: Job, states: set[str], first: int) -> Iterator[int]:
    mask = 0
    for name in states:
        mask |= MASKS.get(name, 0)
    for index in range(max(first, 0), tasks.count):
        if not states or MASKS[_state(tasks, job, index)] & mask or (_result(tasks, job, index) or "active") in states:
            yield index
