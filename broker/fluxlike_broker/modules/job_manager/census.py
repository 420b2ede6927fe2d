"""How many jobs are in which state, kept in step: with a million of them nobody wants to count again."""

from __future__ import annotations

from fluxlike.job.job import Job, result
from fluxlike.job.states import PENDING, RESULTS, RUNNING, State


class Census:
    def __init__(self) -> None:
        self.states: dict[State, int] = dict.fromkeys(State, 0)
        """Inactive jobs count until they are purged, in memory or not."""
        self.results: dict[str, int] = dict.fromkeys(RESULTS, 0)
        self.running: dict[int, Job] = {}
        """RUN and CLEANUP."""
        self.early: dict[int, Job] = {}
        """Before SCHED: the scheduler does not know them yet."""

    def moved(self, job: Job, before: State | None) -> None:
        """The job is in another state than before; None: it is new here."""
        after = job.state
        if before is not None:
            self.states[before] -= 1
        self.states[after] += 1
        if after is State.SCHED:
            self.early.pop(job.id, None)
        elif after is State.RUN or after is State.CLEANUP:
            self.early.pop(job.id, None)
            self.running[job.id] = job
        elif after is State.INACTIVE:
            self.running.pop(job.id, None)
            self.results[result(job)] += 1
        else:
            self.early[job.id] = job

    def ended_before(self, results: dict[str, int]) -> None:
        """Inactive jobs of earlier lives, which only the store has."""
        for name, count in results.items():
            self.results[name] += count
            self.states[State.INACTIVE] += count

    def purged(self, ended: str, count: int = 1) -> None:
        self.results[ended] -= count
        self.states[State.INACTIVE] -= count

    def gone(self, job: Job) -> None:
        """It was taken back as if it had never been."""
        self.states[job.state] -= 1
        self.early.pop(job.id, None)
        self.running.pop(job.id, None)
        if job.state is State.INACTIVE:
            self.results[result(job)] -= 1

    @property
    def pending_count(self) -> int:
        return self._count(PENDING)

    @property
    def running_count(self) -> int:
        return self._count(RUNNING)

    def _count(self, mask: int) -> int:
        return sum(count for state, count in self.states.items() if state & mask)
