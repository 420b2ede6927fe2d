"""Rows on their way to the store, and the callbacks that wait for them."""

from __future__ import annotations

from collections.abc import Callable, Collection

JobTuple = tuple[int, str, int, int, str, str | None, float]
EventTuple = tuple[int, int, float, str, str | None]


class Batch:
    """What one transaction will hold. Belongs to one thread at a time and is never shared.

    Rows and callbacks travel together, so that a callback can only run after the rows it speaks of.
    Allocations, summaries, specs and state are kept by key: the last one given wins.
    """

    __slots__ = ("allocations", "callbacks", "events", "finished", "jobs", "specs", "state")

    def __init__(self) -> None:
        self.specs: dict[str, bytes] = {}
        self.jobs: list[JobTuple] = []
        self.events: list[EventTuple] = []
        self.allocations: dict[int, str] = {}
        self.finished: dict[int, bytes] = {}
        self.state: dict[str, str] = {}
        self.callbacks: list[Callable[[], None]] = []

    def spec(self, digest: str, body: bytes) -> None:
        """A spec is stored once; giving a digest that the store already has changes nothing."""
        self.specs[digest] = body

    def job(
        self, id: int, digest: str, userid: int, urgency: int, flags: str, vars: str | None, submitted: float
    ) -> None:
        """A new job. Its id must not be in the store yet."""
        self.jobs.append((id, digest, userid, urgency, flags, vars, submitted))

    def event(self, job: int, seq: int, ts: float, name: str, context: str | None = None) -> None:
        """One line of a job's eventlog; `seq` counts from 0 without a gap."""
        self.events.append((job, seq, ts, name, context))

    def allocation(self, job: int, r: str) -> None:
        """The job's R as JSON; replaces an earlier one."""
        self.allocations[job] = r

    def done(self, job: int, summary: bytes) -> None:
        """The job is inactive: from now on `load` gives its summary instead of its events."""
        self.finished[job] = summary

    def put(self, key: str, value: str) -> None:
        """A named value; replaces an earlier one. Keys that begin with `store.` are the store's own."""
        self.state[key] = value

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once everything in this batch is on disk, in the order given."""
        self.callbacks.append(callback)

    @property
    def rows(self) -> int:
        counts = (self.specs, self.jobs, self.events, self.allocations, self.finished, self.state)
        return sum(map(len, counts))

    def __bool__(self) -> bool:
        """Is there anything to write or to call?"""
        return bool(self.events or self.callbacks or self.rows)

    def job_ids(self) -> set[int]:
        """The jobs that this batch would make known, not those it merely has news of."""
        return {row[0] for row in self.jobs}

    def without_jobs(self, ids: Collection[int]) -> Batch:
        """Drop every row of these jobs, in place, and give the batch back.

        Specs, state and callbacks stay: a callback may speak for several jobs, so its owner must know that
        some of them were refused.
        """
        gone = frozenset(ids)
        self.jobs = [row for row in self.jobs if row[0] not in gone]
        self.events = [row for row in self.events if row[0] not in gone]
        for job in gone:
            self.allocations.pop(job, None)
            self.finished.pop(job, None)
        return self

    def extend(self, later: Batch) -> None:
        """Put what `later` holds behind what is here."""
        self.specs.update(later.specs)
        self.jobs += later.jobs
        self.events += later.events
        self.allocations.update(later.allocations)
        self.finished.update(later.finished)
        self.state.update(later.state)
        self.callbacks += later.callbacks
