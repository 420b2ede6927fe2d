"""The tasks of an array job: one object for all of them, a few bytes for each."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from fluxlike.ids import nth_after, tick_of

PENDING, HELD, STARTED, DONE, CANCELED = range(5)
"""What a task is: waiting; with resources; running; over; over before it began."""

STATE_NAMES = ("sched", "run", "run", "inactive", "inactive")
NO_STATUS = -1

MOST_TASKS = 10_000_000

Nodes = list[tuple[int, str, str]]
"""(rank, cores, gpus) as idset texts."""


class TaskTable:
    """Changed by `apply` alone, with the task events of the array's log; replay gives it back."""

    __slots__ = (
        "_began",
        "_ended",
        "_next",
        "_origin",
        "_taken",
        "count",
        "counts",
        "failed",
        "id",
        "max_fails",
        "max_running",
        "nodes",
        "states",
        "status",
        "statuses",
        "values",
    )

    def __init__(self, job_id: int, count: int, values: list[str] | None) -> None:
        self.id = job_id
        self.count = count
        self.values = values
        """The tasks' `{cc}`; None: the index."""
        self.max_running = 0
        self.max_fails = -1
        self.states = bytearray(count)
        self.statuses = array("i", [NO_STATUS]) * count
        self.counts = [count, 0, 0, 0, 0]
        """Tasks in each state."""
        self.failed = 0
        self.status = 0
        """The highest wait status."""
        self.nodes: dict[int, Nodes] = {}
        """Where tasks that hold resources have them."""
        self._origin = 0.0
        # Milliseconds after the submission: half the size of a timestamp, and 49 days are enough.
        self._began = array("I", [0]) * count
        self._ended = array("I", [0]) * count
        self._next = 0
        self._taken = 0
        """Tasks taken by the scheduler whose alloc was not applied yet."""

    # -- who is who -----------------------------------------------------------------------------------------

    def key(self, index: int) -> int:
        """The id by which executors and the output spool know the task: those after the array's own were kept free."""
        return nth_after(self.id, index + 1)

    def index(self, key: int) -> int | None:
        index = tick_of(key) - tick_of(self.id) - 1
        return index if 0 <= index < self.count and self.key(index) == key else None

    def cc(self, index: int) -> str:
        return str(index) if self.values is None else self.values[index]

    # -- for the scheduler ----------------------------------------------------------------------------------

    @property
    def active(self) -> int:
        """Tasks that hold resources."""
        return self.counts[HELD] + self.counts[STARTED]

    @property
    def ready(self) -> bool:
        """Whether another task may be given resources now."""
        if self.max_running and self.active + self._taken >= self.max_running:
            return False
        return self.counts[PENDING] > self._taken

    def take(self) -> int:
        """The key of the next task that waits. It counts as given from here on, and must be: `task-alloc` follows."""
        index = self.states.find(PENDING, self._next)
        self._next = index + 1
        self._taken += 1
        return self.key(index)

    # -- events ---------------------------------------------------------------------------------------------

    def submitted(self, timestamp: float, context: dict[str, Any]) -> None:
        self._origin = timestamp
        self.max_running = context.get("max_running", 0)
        self.max_fails = context.get("max_fails", -1)

    def apply(self, name: str, timestamp: float, context: dict[str, Any]) -> None:
        _EFFECTS[name](self, self._since(timestamp), context)

    def _since(self, timestamp: float) -> int:
        return min(max(int((timestamp - self._origin) * 1000), 0), 0xFFFFFFFF)

    def _allocated(self, when: int, context: dict[str, Any]) -> None:
        for index, *flat in context["tasks"]:
            self._move(index, HELD)
            self._taken = max(self._taken - 1, 0)
            self.nodes[index] = list(zip(flat[0::3], flat[1::3], flat[2::3], strict=True))
            self._began[index] = when

    def _started(self, when: int, context: dict[str, Any]) -> None:
        for index in indices(context["tasks"]):
            self._move(index, STARTED)

    def _finished(self, when: int, context: dict[str, Any]) -> None:
        for text, tasks in context["statuses"].items():
            status = int(text)
            self.status = max(self.status, status)
            for index in indices(tasks):
                self._move(index, DONE)
                self.statuses[index] = status
                self._ended[index] = when
                self.nodes.pop(index, None)
                self.failed += status != 0

    def _exception(self, when: int, context: dict[str, Any]) -> None:
        """Only those that wait are over by it; who runs is sent a signal, and ends with that."""
        for index in indices(context["tasks"]):
            if self.states[index] == PENDING:
                self._move(index, CANCELED)
                self._ended[index] = when
                self.failed += 1

    def _move(self, index: int, state: int) -> None:
        self.counts[self.states[index]] -= 1
        self.counts[state] += 1
        self.states[index] = state

    # -- looking at it --------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return self.counts[DONE] + self.counts[CANCELED] == self.count

    def result(self, index: int) -> str:
        state = self.states[index]
        if state == DONE:
            return "completed" if self.statuses[index] == 0 else "failed"
        return "canceled" if state == CANCELED else ""

    def times(self, index: int) -> tuple[float, float]:
        """When it got its resources, and when it ended; 0.0 for what did not happen."""
        began = self._origin + self._began[index] / 1000 if self.states[index] in (HELD, STARTED, DONE) else 0.0
        return began, self._origin + self._ended[index] / 1000 if self.states[index] >= DONE else 0.0

    def tally(self) -> dict[str, int]:
        """How many tasks are how, by the words that jobs are filtered with; without those that are none."""
        completed = self.counts[DONE] - (self.failed - self.counts[CANCELED])
        words = {
            "pending": self.counts[PENDING],
            "running": self.active,
            "completed": completed,
            "failed": self.counts[DONE] - completed,
            "canceled": self.counts[CANCELED],
        }
        return {word: number for word, number in words.items() if number}

    def running(self) -> Iterator[int]:
        return iter(sorted(self.nodes))

    # -- after the end --------------------------------------------------------------------------------------

    def pack(self) -> bytes:
        """All that `unpack` needs to list the tasks later; alike tasks take next to nothing."""
        parts = (self.states, self.statuses.tobytes(), self._began.tobytes(), self._ended.tobytes())
        return zlib.compress(b"".join(parts), 1)

    def unpack(self, data: bytes, origin: float) -> None:
        raw = zlib.decompress(data)
        count = self.count
        self._origin = origin
        self.states = bytearray(raw[:count])
        for number, target in enumerate((self.statuses, self._began, self._ended)):
            start = count + 4 * count * number
            target[:] = array(target.typecode, raw[start : start + 4 * count])
        self.counts = [self.states.count(state) for state in range(5)]
        self.status = max((s for s in self.statuses if s > 0), default=0)
        self.failed = self.counts[CANCELED] + sum(1 for status in self.statuses if status > 0)


_EFFECTS = {
    "task-alloc": TaskTable._allocated,
    "task-start": TaskTable._started,
    "task-finish": TaskTable._finished,
    "task-exception": TaskTable._exception,
}

TASK_EVENTS = tuple(_EFFECTS)


def indices(text: str) -> Iterator[int]:
    """Of an idset text. A mask, as Idset has, would be as long as the array."""
    for part in text.split(","):
        low, hyphen, high = part.partition("-")
        yield from range(int(low), int(high if hyphen else low) + 1)


def idset_text(ids: Iterable[int]) -> str:
    """The reverse, for ids in any order."""
    runs: list[list[int]] = []
    for number in sorted(ids):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def alloc_context(rows: Iterable[tuple[int, Iterable[tuple[int, str, str]]]]) -> dict[str, Any]:
    """Of `task-alloc`: index, then rank, cores and gpus of each node."""
    return {"tasks": [[index, *(part for node in nodes for part in node)] for index, nodes in rows]}


def finish_context(statuses: dict[int, int]) -> dict[str, Any]:
    """Of `task-finish`: the tasks by their wait status."""
    alike: dict[int, list[int]] = {}
    for index, status in statuses.items():
        alike.setdefault(status, []).append(index)
    return {"statuses": {str(status): idset_text(tasks) for status, tasks in alike.items()}}
