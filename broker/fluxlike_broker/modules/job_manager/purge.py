"""Forgetting inactive jobs, when told to and when there are too many or too old ones."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from math import inf
from typing import Any

import msgpack

from fluxlike.errors import FluxlikeError, InvalidRequest, NotFound
from fluxlike.ids import encode_f58, nth_after
from fluxlike.job.summary import table_from_summary
from fluxlike.protocol.internal import OutputForget
from fluxlike.protocol.jobs import JobPurge, JobPurged
from fluxlike_broker.call import Call
from fluxlike_broker.memory import give_back
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.listing import store_error
from fluxlike_broker.service import request
from fluxlike_broker.store import history

log = logging.getLogger("fluxlike.job")

AT_ONCE = 2000
"""Jobs removed in one transaction: the store must be free for others in between."""

INTERVAL = 60.0
"""Seconds between looks at the limits."""

OnPurged = Callable[[int | FluxlikeError], None]


class Purge:
    def __init__(self, board: Board, age_limit: float, num_limit: int | None) -> None:
        """Limits of the history: seconds since the end, and number of jobs; infinite and None are none."""
        self._board = board
        self._age_limit = age_limit
        self._num_limit = -1 if num_limit is None else num_limit
        self._queue: deque[Callable[[], None]] = deque()
        """Purges that were asked for; the first is being done."""
        self._timer: asyncio.TimerHandle | None = None
        if self._limited:
            self._later()

    @property
    def _limited(self) -> bool:
        return self._age_limit != inf or self._num_limit >= 0

    @request(JobPurge)
    def purge(self, body: JobPurge, call: Call) -> None:
        if not body.ids and body.age < 0 and body.num < 0:
            raise InvalidRequest("job.purge: say which: ids, an age in seconds, or how many to keep")

        def purged(count: int | FluxlikeError) -> None:
            if isinstance(count, FluxlikeError):
                call.fail(count)
            else:
                call.respond(JobPurged(count=count))

        before = self._board.clock.now() - body.age if body.age >= 0 else 0.0
        self._find(body.ids, before, body.num, purged, dry_run=body.dry_run)

    def _find(self, ids: list[int], before: float, keep: int, on_purged: OnPurged, *, dry_run: bool = False) -> None:
        ended = self._before_the_next(on_purged)

        def found(doomed: Any) -> None:
            if isinstance(doomed, Exception):
                ended(store_error(doomed))
                return
            missing = set(ids) - set(doomed.ids)
            if missing:
                ended(self._objection(min(missing)))
            elif dry_run:
                ended(len(doomed.ids))
            else:
                self._next_slice(doomed, 0, ended)

        def look() -> None:
            query = self._board.store.query
            query(lambda connection: history.doomed(connection, ids=ids, before=before, keep=keep), found)

        self._queue.append(look)
        if len(self._queue) == 1:
            look()

    def _before_the_next(self, on_purged: OnPurged) -> OnPurged:
        """Purges go one after the other: what is being forgotten must not be found a second time."""

        def ended(outcome: int | FluxlikeError) -> None:
            self._queue.popleft()
            if self._queue:
                self._queue[0]()
            on_purged(outcome)

        return ended

    def _objection(self, job_id: int) -> FluxlikeError:
        if job_id in self._board.jobs:
            return InvalidRequest(f"job {encode_f58(job_id)} is active: cancel it first")
        return NotFound(f"there is no job {encode_f58(job_id)}")

    def _next_slice(self, doomed: history.Doomed, start: int, on_purged: OnPurged) -> None:
        """From the store, then from the memory; the output goes last, when nobody can ask for it."""
        if start >= len(doomed.ids):
            if doomed.arrays or len(doomed.ids) >= AT_ONCE:
                give_back()
            self._board.store.query(history.forget_unused_specs, lambda _: on_purged(len(doomed.ids)))
            return
        some = doomed.ids[start : start + AT_ONCE]

        def forgotten(outcome: Any) -> None:
            if isinstance(outcome, Exception):
                on_purged(store_error(outcome))
                return
            self._forget(some, doomed)
            self._next_slice(doomed, start + AT_ONCE, on_purged)

        self._board.store.query(lambda connection: history.forget(connection, some), forgotten)

    def _forget(self, ids: list[int], doomed: history.Doomed) -> None:
        census = self._board.census
        census.purged(Counter(doomed.results[job_id] for job_id in ids if job_id in doomed.results))
        ranges = []
        for job_id in ids:
            if job_id in doomed.arrays:
                count, summary = doomed.arrays[job_id]
                census.tasks_counted(table_from_summary(count, msgpack.unpackb(summary)), -1)
                ranges.append((nth_after(job_id, 1), nth_after(job_id, count)))
        self._board.forget(set(ids))
        self._board.router.request(OutputForget(ids=ids, ranges=ranges))

    # -- limits ---------------------------------------------------------------------------------------------

    def _later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._look)

    def _look(self) -> None:
        self._timer = None
        before = self._board.clock.now() - self._age_limit if self._age_limit != inf else 0.0

        def purged(count: int | FluxlikeError) -> None:
            if isinstance(count, FluxlikeError):
                log.warning("could not purge old jobs: %s", count)
            elif count:
                log.info("purged %d inactive jobs", count)
            self._later()

        self._find([], before, self._num_limit, purged)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
