"""When the loop begins to watch the pipes of a job."""

from __future__ import annotations

from collections import deque

from fluxlike_executor.clock import monotonic
from fluxlike_executor.job import Job, State
from fluxlike_executor.loop import Loop

UNWATCHED = 0.02
"""Seconds for which a job is left alone. Most short ones end by then, and what they wrote is read all at once; to watch
their pipes would cost more than that. Nobody notices when the first line of a longer one comes so late."""


def watch(job: Job) -> None:
    """Harmless when repeated."""
    for pipe in job.outputs:
        pipe.watch()


class Watching:
    __slots__ = ("_loop", "_young")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._young: deque[tuple[float, Job]] = deque()
        """When it was launched, and which; in order."""

    def launched(self, job: Job, now: float) -> None:
        """At once if somebody talks to it and waits for what it says, else if it still runs after a while."""
        if job.inputs is not None:
            watch(job)
        elif job.outputs:
            if not self._young:
                self._loop.after(UNWATCHED, self._watch_grown)
            self._young.append((now, job))

    def _watch_grown(self) -> None:
        young = self._young
        now = monotonic()
        while young and young[0][0] + UNWATCHED <= now:
            _, job = young.popleft()
            if job.state is State.RUNNING:
                watch(job)
        if young:
            self._loop.after(young[0][0] + UNWATCHED - now, self._watch_grown)
