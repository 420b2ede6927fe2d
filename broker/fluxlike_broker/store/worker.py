"""The writing thread itself: one connection, one batch at a time, tried again until it is on disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from fluxlike.errors import FluxlikeError, StoreUnavailable
from fluxlike_broker.store import salvage
from fluxlike_broker.store.batch import Batch

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from fluxlike_broker.store.engine import Database

log = logging.getLogger("fluxlike.store")

T = TypeVar("T")
Query = tuple[Callable[["Connection"], Any], Callable[[Any], None]]

PAUSE = 0.1
"""Least seconds between attempts while the store fails, however often a busy broker flushes."""

SHOWN = 3
"""Rows named in a message about rows."""

PROBE = "store.probe"
"""Written when a failed store has nothing else to write: only a write shows that it takes writes again."""


class Work:
    """What goes to the thread: rows first, then the questions asked after them."""

    __slots__ = ("batch", "queries")

    def __init__(self, batch: Batch, queries: list[Query]) -> None:
        self.batch = batch
        self.queries = queries


class Result:
    """What comes back: the batch, and why it is not on disk (None: it is), and answers ready to be called.

    `in_doubt`: rows of an earlier batch, or of this one, may be on disk or not; the thread keeps them, finds
    out, and gives their callbacks back with a later batch. `hopeless`: the rows themselves are what is wrong.
    """

    __slots__ = ("answers", "batch", "hopeless", "in_doubt", "reason")

    def __init__(self, batch: Batch, reason: str | None, answers: list[Callable[[], None]]) -> None:
        self.batch = batch
        self.reason = reason
        self.answers = answers
        self.in_doubt = False
        self.hopeless = False


_NOTHING = Work(Batch(), [])


def _load() -> None:
    with suppress(ImportError):  # the first batch will fail with it, and say so
        import fluxlike_broker.store.commit
        import fluxlike_broker.store.engine  # noqa: F401  used later


class Worker:
    """Takes work until told to stop, delivers one result for each; None says that it is time to try again."""

    def __init__(self, url: str, durable: bool, retry: float, deliver: Callable[[Result | None], None]) -> None:
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._url = url
        self._durable = durable
        self._retry = retry
        self._deliver = deliver
        self._stopped = threading.Event()
        self._database: Database | None = None
        self._failed_at: float | None = None
        self._doubtful: Batch | None = None
        self._hopeless = False
        """The last failure was about the rows."""

    def give(self, work: Work) -> None:
        self._work.put(work)

    def stop(self) -> None:
        """Finish what is being written at this moment, begin nothing more."""
        self._stopped.set()
        self._work.put(None)

    def warm_up(self) -> None:
        """Load what writing needs before there is something to write."""
        self._work.put(_NOTHING)

    def run(self) -> None:
        while (work := self._next()) is not None:
            if work is _NOTHING:
                _load()
            else:
                self._deliver(self._perform(work))
        if self._database is not None:
            _quietly(self._database.close)

    def _next(self) -> Work | None:
        work = self._work.get() if self._failed_at is None else self._await_retry(self._failed_at)
        return None if self._stopped.is_set() else work

    def _await_retry(self, failed_at: float) -> Work | None:
        while True:
            try:
                work = self._work.get(timeout=self._retry)
            except Empty:
                self._deliver(None)
            else:
                self._stopped.wait(max(0.0, failed_at + PAUSE - monotonic()))
                return work

    def _perform(self, work: Work) -> Result:
        error = _outcome(self._write, work)
        if isinstance(error, Exception):
            return self._give_up(work, error)
        self._failed_at = None
        self._hopeless = False
        return Result(work.batch, None, [self._answer(query) for query in work.queries])

    def _write(self, work: Work) -> None:
        self._settle_doubt(work)
        batch = work.batch
        if self._failed_at is not None and not batch.rows:
            batch = Batch()
            batch.put(PROBE, "")
        # Opened only now: a store that nothing was written to leaves no file behind.
        if batch.rows:
            self._store(self._opened(), batch)
        elif work.queries:
            self._opened().connection()

    def _settle_doubt(self, work: Work) -> None:
        if self._doubtful is not None:
            self._opened().write(self._doubtful)
            work.batch.callbacks[:0] = self._doubtful.callbacks
            self._doubtful = None

    def _store(self, database: Database, batch: Batch) -> None:
        try:
            database.write(batch)
        except Exception as error:
            if not database.is_hopeless(error):
                raise
            _quietly(database.drop)
            if batch.jobs and not self._hopeless:  # they can still be refused, and the rest may do without them
                raise _Hopeless(_culprits(database, batch, error)) from error
            _save(database, batch)

    def _opened(self) -> Database:
        if self._database is None:
            from fluxlike_broker.store.engine import open_database

            self._database = open_database(self._url, self._durable)
        return self._database

    def _answer(self, query: Query) -> Callable[[], None]:
        function, callback = query
        return partial(callback, _outcome(self._ask, function))

    def _ask(self, function: Callable[[Connection], T]) -> T:
        return self._opened().ask(function)

    def _give_up(self, work: Work, error: Exception) -> Result:
        """Let go of the connection too: it may be what is broken, and closing it undoes what it had begun."""
        self._failed_at = monotonic()
        self._hopeless = isinstance(error, _Hopeless)
        reason = self._reason(error)
        answer: Exception = StoreUnavailable(reason)
        if self._database is not None:
            _quietly(self._database.drop)
        if isinstance(error, FluxlikeError):
            answer = type(error)(reason)
        result = Result(work.batch, reason, [partial(callback, answer) for _, callback in work.queries])
        if self._database is not None and self._database.in_doubt and self._doubtful is None:
            self._doubtful, result.batch = work.batch, Batch()
        result.in_doubt = self._doubtful is not None
        result.hopeless = self._hopeless
        return result

    def _reason(self, error: Exception) -> str:
        return str(error) if self._database is None else self._database.reason(error)


class _Hopeless(StoreUnavailable):
    """Rows that the database will never take."""


def _culprits(database: Database, batch: Batch, error: Exception) -> str:
    """Who is to blame, by name; the first few are enough to look for."""
    found = salvage.refused(salvage.units(batch), database.try_out, database.is_hopeless)
    names = ", ".join(name for name, _ in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{names}{more} cannot be stored: {found[0][1] if found else error}"


def _save(database: Database, batch: Batch) -> None:
    """Store all that can be stored in any way. What cannot is lost: only a restart, which replays what there is,
    will show what that means for its job."""

    def attempt(part: Batch) -> None:
        try:
            database.write(part, replace=True)
        except Exception:
            _quietly(database.drop)
            raise

    for name, error in salvage.refused(salvage.units(batch), attempt, database.is_hopeless):
        log.error("store: %s: news of it cannot be stored and are lost: %s", name, database.reason(error))


def _outcome(function: Callable[..., T], *arguments: Any) -> T | Exception:
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001  whatever it is, its owner in the other thread must hear of it
        return error


def _quietly(function: Callable[[], None]) -> None:
    error = _outcome(function)
    if isinstance(error, Exception):
        log.warning("store: while closing: %s", error)
