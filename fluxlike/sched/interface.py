"""What the job manager may ask of a scheduler, whichever it is. Pure: no clock, no messages, no store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from fluxlike.sched.request import Request

Node = tuple[int, int, int]
"""(rank, core mask, gpu mask)."""


class Allocation:
    """What a job holds: its nodes in rank order, and how many of its slots are on each."""

    __slots__ = ("nodes", "slots_per_node")

    def __init__(self, nodes: tuple[Node, ...], slots_per_node: tuple[int, ...]) -> None:
        self.nodes = nodes
        self.slots_per_node = slots_per_node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Allocation):
            return NotImplemented
        return self.nodes == other.nodes and self.slots_per_node == other.slots_per_node

    def __hash__(self) -> int:
        return hash((self.nodes, self.slots_per_node))

    def __repr__(self) -> str:
        return f"Allocation(nodes={self.nodes!r}, slots_per_node={self.slots_per_node!r})"


class Tasks(Protocol):
    """What of an array job matters here: it asks for the same again and again."""

    @property
    def ready(self) -> bool:
        """May another task be given resources now?"""
        ...

    def take(self) -> int:
        """The key under which the next task holds its resources."""
        ...


class Scheduler(Protocol):
    def define(self, rank: int, host: str, core_mask: int, gpu_mask: int) -> None:
        """A rank's inventory. It is not available until said so. Said again, it replaces what was known;
        what jobs hold there stays held."""
        ...

    def set_available(self, rank: int, available: bool) -> None:
        """Whether new jobs may start there: up and not drained. Running ones keep what they hold."""
        ...

    def check(self, request: Request) -> None:
        """Raises Unsatisfiable, naming what is short and the numbers, if the request could not run even with
        every defined node up and empty."""
        ...

    def enqueue(self, job_id: int, request: Request, priority: int, tasks: Tasks | None = None) -> None:
        """Asks for resources. Asking again replaces the request; a job that holds some is left alone.

        With `tasks` it asks once for each of them, until none is ready; then it no longer waits."""
        ...

    def dequeue(self, job_id: int) -> None:
        """No longer asks. Harmless for a job that does not."""
        ...

    def reprioritize(self, job_id: int, priority: int) -> None:
        """Harmless for a job that does not wait."""
        ...

    def allocate(self, limit: int) -> list[tuple[int, Allocation]]:
        """Up to `limit` jobs, or tasks by their keys, that now hold resources, in the order they got them. Higher
        priority goes first, then the smaller id; priority 0 is held and never considered."""
        ...

    def adopt(self, job_id: int, allocation: Allocation) -> None:
        """After a restart: the job holds this already, also on ranks that are not defined yet."""
        ...

    def release(self, job_id: int, ranks: set[int] | None = None) -> None:
        """Gives back what the job holds, all of it or on these ranks. Harmless when repeated."""
        ...

    def reason(self, job_id: int) -> str:
        """Why the job waits, in a few words. Raises NotFound for a job that does not."""
        ...

    def in_order(self) -> Iterator[int]:
        """The jobs that wait, in the order they go, held ones last. Taking a few of many is cheap."""
        ...

    def position(self, job_id: int) -> int:
        """1 for the job that goes next; 0 for a held one. Raises NotFound for a job that does not wait."""
        ...

    def usage(self, rank: int) -> tuple[int, int]:
        """(core mask, gpu mask) that jobs hold there."""
        ...

    def __len__(self) -> int:
        """Jobs that wait, held ones included."""
        ...
