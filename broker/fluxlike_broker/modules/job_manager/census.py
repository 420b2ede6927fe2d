"""How many jobs are in which state, kept in step: with a million of them nobody wants to count again."""

from __future__ import annotations

from fluxlike.job.array import PENDING as WAITING
from fluxlike.job.array import TaskTable
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
        if job.tasks is None:
            if before is not None:
                self.states[before] -= 1
            self.states[after] += 1
            if after is State.INACTIVE:
                self.results[result(job)] += 1
        else:
            self._array_moved(job.tasks, before, after)
        if after is State.SCHED:
            self.early.pop(job.id, None)
        elif after is State.RUN or after is State.CLEANUP:
            self.early.pop(job.id, None)
            self.running[job.id] = job
        elif after is State.INACTIVE:
            self.running.pop(job.id, None)
        else:
            self.early[job.id] = job

    def _array_moved(self, tasks: TaskTable, before: State | None, after: State) -> None:
        """Tasks are counted, not the array: those that wait are where it is, or in the queue while others run."""
        waiting = tasks.counts[WAITING]
        if before is None:
            self._array_here(tasks)
        else:
            self.states[_of_waiting(before)] -= waiting
        self.states[_of_waiting(after)] += waiting
        if after is State.INACTIVE:
            self.results["canceled"] += waiting

    def _array_here(self, tasks: TaskTable) -> None:
        """Those that do not wait: there are some when rank 0 was restarted."""
        tally = tasks.tally()
        self.states[State.RUN] += tasks.active
        self.states[State.INACTIVE] += tasks.count - tasks.active - tasks.counts[WAITING]
        for name in ("completed", "failed", "canceled"):
            self.results[name] += tally.get(name, 0)

    def tasks(self, before: State, after: State, count: int) -> None:
        self.states[before] -= count
        self.states[after] += count

    def tasks_ended(self, before: State, completed: int, failed: int, canceled: int) -> None:
        self.tasks(before, State.INACTIVE, completed + failed + canceled)
        self.results["completed"] += completed
        self.results["failed"] += failed
        self.results["canceled"] += canceled

    def ended_before(self, results: dict[str, int]) -> None:
        """Inactive jobs of earlier lives, which only the store has."""
        for name, count in results.items():
            self.results[name] += count
            self.states[State.INACTIVE] += count

    def tasks_counted(self, table: TaskTable, sign: int) -> None:
        """The tasks of an inactive array are back, or gone for good."""
        tally = table.tally()
        canceled = tally.get("canceled", 0) + tally.get("pending", 0)
        for name, count in (("completed", tally.get("completed", 0)), ("failed", tally.get("failed", 0))):
            self.results[name] += sign * count
        self.results["canceled"] += sign * canceled
        self.states[State.INACTIVE] += sign * table.count

    def purged(self, ended: dict[str, int]) -> None:
        """So many ordinary jobs that had ended so."""
        for name, count in ended.items():
            self.results[name] -= count
            self.states[State.INACTIVE] -= count

    def gone(self, job: Job) -> None:
        """It was taken back as if it had never been."""
        self.early.pop(job.id, None)
        self.running.pop(job.id, None)
        if job.tasks is not None:
            self._array_gone(job, job.tasks)
            return
        self.states[job.state] -= 1
        if job.state is State.INACTIVE:
            self.results[result(job)] -= 1

    def _array_gone(self, job: Job, tasks: TaskTable) -> None:
        """It was not committed, so none of its tasks has run; some may hold resources, or be over without."""
        waiting, tally = tasks.counts[WAITING], tasks.tally()
        self.states[_of_waiting(job.state)] -= waiting
        self.states[State.RUN] -= tasks.active
        if job.state is State.INACTIVE:
            self.results["canceled"] -= waiting
        for how in ("completed", "failed", "canceled"):
            self.results[how] -= tally.get(how, 0)
            self.states[State.INACTIVE] -= tally.get(how, 0)

    @property
    def pending_count(self) -> int:
        return self._count(PENDING)

    @property
    def running_count(self) -> int:
        return self._count(RUNNING)

    def _count(self, mask: int) -> int:
        return sum(count for state, count in self.states.items() if state & mask)


def _of_waiting(state: State) -> State:
    """Where the tasks count that wait, of an array in this state."""
    return State.SCHED if state is State.RUN else state
