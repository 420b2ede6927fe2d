"""Rows on their way to the store, and the callbacks that wait for them."""

from __future__ import annotations

from collections.abc import Callable, Collection

JobTuple = tuple[int, str, int, int, str, str | None, float, int]
"""id, digest, userid, urgency, flags, vars, submitted, tasks."""

EndTuple = tuple[float, str, int, str, int, bytes]
"""ended, result, userid, name, tasks, summary."""

Log = tuple[int, tuple[str, ...]]
"""Number of the first event, and lines in order (job/eventlog.py): one or several events each."""


class Batch:
    """What one transaction will hold. Belongs to one thread at a time and is never shared.

    Rows and callbacks travel together, so that a callback can only run after the rows it speaks of.
    Allocations, ends, specs, keys and state are kept by key: the last one given wins.
    """

    __slots__ = ("allocations", "callbacks", "ended", "jobs", "keys", "logs", "specs", "state")

    def __init__(self) -> None:
        self.specs: dict[str, bytes] = {}
        self.jobs: list[JobTuple] = []
        self.logs: dict[int, Log] = {}
        self.allocations: dict[int, str] = {}
        self.ended: dict[int, EndTuple] = {}
        self.keys: dict[str, tuple[int, int, float]] = {}
        self.state: dict[str, str] = {}
        self.callbacks: list[Callable[[], None]] = []

    def spec(self, digest: str, body: bytes) -> None:
        """A spec is stored once; giving a digest that the store already has changes nothing."""
        self.specs[digest] = body

    def job(self, row: JobTuple) -> None:
        """A new job. Its id must not be in the store yet, and its first events must come in this batch."""
        self.jobs.append(row)

    def event(self, job: int, seq: int, lines: str) -> None:
        """The next part of a job's eventlog; `seq` is the number of its first event, counted from 0."""
        known = self.logs.get(job)
        self.logs[job] = (seq, (lines,)) if known is None else (known[0], (*known[1], lines))

    def allocation(self, job: int, r: str) -> None:
        """The job's R as JSON. It goes with the alloc event, which must be in this batch."""
        self.allocations[job] = r

    def end(self, job: int, row: EndTuple) -> None:
        """The job is inactive: from now on it belongs to the history."""
        self.ended[job] = row

    def key(self, key: str, first: int, count: int, submitted: float) -> None:
        """This submission must not be taken twice."""
        self.keys[key] = (first, count, submitted)

    def put(self, key: str, value: str) -> None:
        """A named value; replaces an earlier one. Keys that begin with `store.` are the store's own."""
        self.state[key] = value

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Run `callback` once everything in this batch is on disk, in the order given."""
        self.callbacks.append(callback)

    @property
    def rows(self) -> int:
        counts = (self.specs, self.jobs, self.logs, self.ended, self.keys, self.state)
        return sum(map(len, counts))

    def __bool__(self) -> bool:
        """Is there anything to write or to call?"""
        return bool(self.logs or self.callbacks or self.rows)

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
        for job in gone:
            self.logs.pop(job, None)
            self.allocations.pop(job, None)
            self.ended.pop(job, None)
        self.keys = {key: row for key, row in self.keys.items() if row[0] not in gone}
        return self

    def extend(self, later: Batch) -> None:
        """Put what `later` holds behind what is here."""
        self.specs.update(later.specs)
        self.jobs += later.jobs
        for job, (seq, lines) in later.logs.items():
            known = self.logs.get(job)
            self.logs[job] = (seq, lines) if known is None else (known[0], known[1] + lines)
        self.allocations.update(later.allocations)
        self.ended.update(later.ended)
        self.keys.update(later.keys)
        self.state.update(later.state)
        self.callbacks += later.callbacks
