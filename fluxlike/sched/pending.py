"""The jobs that wait, in the order they go: higher priority, then smaller id; priority 0 is held."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from fluxlike.errors import NotFound
from fluxlike.sched.request import Request

HELD = 0
_SLACK = 1024
"""Stale heap entries that are tolerated beside as many as there are jobs, before the heap is made anew."""


class Pending:
    """A heap from which jobs are deleted lazily: an entry counts only while the job has that priority."""

    __slots__ = ("_heap", "_jobs", "_positions")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []
        self._jobs: dict[int, tuple[int, Request]] = {}
        self._positions: dict[int, int] | None = None
        """Filled when somebody asks, dropped when something changes: a listing sorts once."""

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job_id: int) -> bool:
        return job_id in self._jobs

    def put(self, job_id: int, request: Request, priority: int) -> None:
        self._jobs[job_id] = (priority, request)
        self._positions = None
        if priority != HELD:
            heappush(self._heap, (-priority, job_id))
            if len(self._heap) > 2 * len(self._jobs) + _SLACK:
                self._rebuild()

    def remove(self, job_id: int) -> None:
        if self._jobs.pop(job_id, None) is not None:
            self._positions = None

    def request(self, job_id: int) -> Request:
        return self._job(job_id)[1]

    def priority(self, job_id: int) -> int:
        return self._job(job_id)[0]

    def head(self) -> int | None:
        """The job that goes next; None if all are held or there is none."""
        heap = self._heap
        while heap:
            negated, job_id = heap[0]
            job = self._jobs.get(job_id)
            if job is not None and job[0] == -negated:
                return job_id
            heappop(heap)
        return None

    def in_order(self) -> Iterator[int]:
        """Walks down the heap from its top: the next one is among the children of those taken before."""
        heap, jobs = self._heap, self._jobs
        frontier = [(heap[0], 0)] if heap else []
        last = None
        while frontier:
            entry, at = heappop(frontier)
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap):
                    heappush(frontier, (heap[child], child))
            job = jobs.get(entry[1])
            # A job that came back with its old priority may be there twice, one after the other.
            if job is not None and job[0] == -entry[0] and entry != last:
                last = entry
                yield entry[1]
        yield from sorted(job_id for job_id, (priority, _) in jobs.items() if priority == HELD)

    def position(self, job_id: int) -> int:
        """1 for the head, 0 for a held job. The first call after a change sorts, others look up."""
        if self._job(job_id)[0] == HELD:
            return 0
        if self._positions is None:
            order = sorted(self._entries())
            self._positions = {waiting: place for place, (_, waiting) in enumerate(order, start=1)}
        return self._positions[job_id]

    def _job(self, job_id: int) -> tuple[int, Request]:
        job = self._jobs.get(job_id)
        if job is None:
            raise NotFound(f"job {job_id} does not wait for resources")
        return job

    def _rebuild(self) -> None:
        self._heap = self._entries()
        heapify(self._heap)

    def _entries(self) -> list[tuple[int, int]]:
        return [(-priority, job_id) for job_id, (priority, _) in self._jobs.items() if priority != HELD]
