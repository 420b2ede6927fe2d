"""The thread that writes, and the group commit that clocks itself.

While one batch is being committed the next one gathers; it is handed over as soon as the thread is free. So a
lone event costs one commit, and under load the batches grow by themselves, with no timer.

A batch is owned by one side at a time. After a failure it comes back to the owner of the loop, in front of
what has gathered since: rows keep their order, and what is dropped from it can never be committed after all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from fluxlike.errors import StoreUnavailable
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.worker import Query, Result, Work, Worker

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

log = logging.getLogger("fluxlike.store")

T = TypeVar("T")

RETRY = 1.0
"""Seconds between attempts while the store fails and nothing new comes in."""


class StoreWriter:
    """Puts batches on disk in order. All methods are for the thread in which `post` runs what it is given.

    `batch` is the open batch: fill it, then call `flush`. `failure` is why the store cannot commit, or None.
    `on_failure(batch, reason)` runs once per outage, `on_recovered()` once at its end; the batch given is the
    open one and holds every row that is known not to be on disk, so this is the moment to refuse its new jobs
    with `batch.without_jobs(batch.job_ids())`. Rows of which a lost server alone knows are kept until it is
    back, and so are their callbacks. Rows that the database will never take are an outage that ends at once: if
    new jobs are among them, all of the batch's can be refused; the others are saved as well as can be.
    """

    def __init__(
        self,
        url: str,
        durable: bool,
        post: Callable[[Callable[[], None]], object],
        on_failure: Callable[[Batch, str], None],
        on_recovered: Callable[[], None],
        *,
        retry: float = RETRY,
    ) -> None:
        self.batch = Batch()
        self.failure: str | None = None
        self._post = post
        self._on_failure = on_failure
        self._on_recovered = on_recovered
        self._queries: list[Query] = []
        self._busy = False
        self._in_doubt = False
        self._wanted = False
        self._used = False
        self._closed = False
        self._results: SimpleQueue[Result | None] = SimpleQueue()
        self._worker = Worker(url, durable, retry, self._deliver)
        # A daemon, so that a broker that gives up on a hanging disk can still end.
        self._thread = threading.Thread(target=self._worker.run, name="store", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> bool:
        """Nothing is on its way: whatever was given is on disk."""
        return not (self._busy or self._in_doubt or self.batch)

    def warm_up(self) -> None:
        """The start is over: load SQLAlchemy now, in the thread, so that the first commit need not."""
        self._worker.warm_up()

    def flush(self) -> None:
        """Hand the open batch over now, or as soon as the one before it is done."""
        if self._busy:
            self._wanted = True
        elif self.batch or self._queries:
            self._hand_over()

    def query(self, function: Callable[[Connection], T], callback: Callable[[T | Exception], None]) -> None:
        """Run `function` in the writer's thread once all rows given so far are on disk; `callback` gets what
        it returns or raises. While the store fails that is StoreUnavailable, not a wait."""
        self._queries.append((function, callback))
        self.flush()

    def close(self, timeout: float) -> None:
        """Put everything on disk, run the callbacks that waited for it, end the thread.

        Raises StoreUnavailable if that took more than `timeout` seconds. Nothing new is begun afterwards.
        """
        if not (self._used or self.batch or self._queries):
            self.abandon()
        if self._closed:
            return
        deadline = monotonic() + timeout
        self._drain(deadline)
        self.abandon()
        self._thread.join(max(0.0, deadline - monotonic()))
        if self._busy or self._in_doubt or self.batch.rows:
            raise StoreUnavailable(f"closed with rows not known to be on disk: {self.failure or 'timed out'}")

    def abandon(self) -> None:
        """End without writing and without waiting. A store that nothing was given to leaves no file."""
        self._closed = True
        self._worker.stop()

    def _hand_over(self) -> None:
        if self._closed:
            return
        work = Work(self.batch, self._queries)
        self.batch, self._queries = Batch(), []
        self._busy = self._used = True
        self._wanted = False
        self._worker.give(work)

    def _deliver(self, result: Result | None) -> None:
        """Runs in the thread. None means that it is time to try again."""
        self._results.put(result)
        with suppress(RuntimeError):  # the loop is closed already; then close() collects the results
            self._post(self._settle)

    def _settle(self) -> None:
        with suppress(Empty):
            while True:
                self._handle(self._results.get_nowait())

    def _drain(self, deadline: float) -> None:
        """Be the loop until nothing is left to write; the real one is waiting for us."""
        self.flush()
        while not self.settled:
            try:
                self._handle(self._results.get(timeout=max(0.0, deadline - monotonic())))
            except Empty:
                return
            self.flush()

    def _handle(self, result: Result | None) -> None:
        if result is None:
            if self.failure is not None and not self._busy:
                self._hand_over()
            return
        self._busy = False
        self._in_doubt = result.in_doubt
        if result.reason is None:
            self._committed(result)
        else:
            self._failed(result, result.reason)

    def _committed(self, result: Result) -> None:
        recovered = self.failure is not None
        self.failure = None
        if self._wanted or self._queries:
            self._wanted = False
            self.flush()  # before the callbacks, so that the disk works while they run
        _call(result.batch.callbacks)
        _call(result.answers)
        if recovered:
            log.warning("store: works again")
            _call([self._on_recovered])

    def _failed(self, result: Result, reason: str) -> None:
        result.batch.extend(self.batch)
        self.batch = result.batch
        self._wanted = False
        known = self.failure is not None
        self.failure = reason
        if not known or result.hopeless:
            log.error("store: cannot commit: %s", reason)
            _call([partial(self._on_failure, self.batch, reason)])
        _call(result.answers)
        if (self._queries or result.hopeless) and not self._busy:
            self._hand_over()


def _call(callbacks: list[Callable[[], None]]) -> None:
    for callback in callbacks:
        try:
            callback()
        except Exception:  # one caller's mistake must not cost the others their answer
            log.exception("store: a callback failed")
