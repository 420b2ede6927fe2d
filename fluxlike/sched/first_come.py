"""First come, first served: the head of the queue gets what it needs, or everyone behind it waits."""

from __future__ import annotations

from collections.abc import Iterator

from fluxlike.errors import FluxlikeError, Unsatisfiable
from fluxlike.ids import encode_f58
from fluxlike.sched.interface import Allocation, Node, Tasks
from fluxlike.sched.match import Machine
from fluxlike.sched.pending import HELD, Pending
from fluxlike.sched.request import Request
from fluxlike.sched.shortage import EVER, NOW, shortage


class FirstCome:
    """Implements `Scheduler` (interface.py), which says what each method promises."""

    __slots__ = ("_arrays", "_blocked", "_empty", "_held", "_machine", "_pending")

    def __init__(self) -> None:
        self._machine = Machine()
        self._empty = Machine()
        """The same nodes, all up and nothing held: what could ever run is asked here, by the same rule."""
        self._pending = Pending()
        self._arrays: dict[int, Tasks] = {}
        """Jobs in the queue that ask for each of their tasks."""
        self._held: dict[int, Allocation] = {}
        self._blocked: int | None = None
        """The head that did not fit: not tried again until something comes free or another is the head."""

    def define(self, rank: int, host: str, core_mask: int, gpu_mask: int) -> None:
        self._machine.define(rank, core_mask, gpu_mask)
        self._empty.define(rank, core_mask, gpu_mask)
        self._empty.set_up(rank, True)
        self._blocked = None

    def set_available(self, rank: int, available: bool) -> None:
        self._machine.set_up(rank, available)
        self._blocked = None

    def check(self, request: Request) -> None:
        if not self._empty.fits(request):
            raise Unsatisfiable(f"could not run even on an empty machine: {shortage(self._empty, request, EVER)}")

    def enqueue(self, job_id: int, request: Request, priority: int, tasks: Tasks | None = None) -> None:
        if job_id in self._held:
            return
        if job_id == self._blocked:
            self._blocked = None
        if tasks is not None:
            self._arrays[job_id] = tasks
        self._pending.put(job_id, request, priority)

    def dequeue(self, job_id: int) -> None:
        self._pending.remove(job_id)
        self._arrays.pop(job_id, None)

    def reprioritize(self, job_id: int, priority: int) -> None:
        if job_id in self._pending:
            self._pending.put(job_id, self._pending.request(job_id), priority)

    def allocate(self, limit: int) -> list[tuple[int, Allocation]]:
        granted: list[tuple[int, Allocation]] = []
        while len(granted) < limit:
            job_id = self._pending.head()
            if job_id is None or job_id == self._blocked:
                break
            allocation = self._machine.allocate(self._pending.request(job_id))
            if allocation is None:
                self._blocked = job_id
                break
            key = self._next_key(job_id)
            self._held[key] = allocation
            granted.append((key, allocation))
        return granted

    def _next_key(self, job_id: int) -> int:
        """Who holds what was just found: the job, which then waits no longer, or one of its tasks."""
        tasks = self._arrays.get(job_id)
        if tasks is None:
            self._pending.remove(job_id)
            return job_id
        key = tasks.take()
        if not tasks.ready:
            self.dequeue(job_id)
        return key

    def adopt(self, job_id: int, allocation: Allocation) -> None:
        if self._held.get(job_id) == allocation:
            return
        for node in allocation.nodes:
            self._refuse_double_use(job_id, node)
        self._pending.remove(job_id)
        self._held[job_id] = allocation
        for node in allocation.nodes:
            self._machine.hold(node)

    def release(self, job_id: int, ranks: set[int] | None = None) -> None:
        allocation = self._held.get(job_id)
        if allocation is None:
            return
        rows = list(zip(allocation.nodes, allocation.slots_per_node, strict=True))
        kept = [] if ranks is None else [row for row in rows if row[0][0] not in ranks]
        for node, _ in rows:
            if ranks is None or node[0] in ranks:
                self._machine.free(node)
        if kept:
            self._held[job_id] = Allocation(tuple(node for node, _ in kept), tuple(slots for _, slots in kept))
        else:
            del self._held[job_id]
        self._blocked = None

    def reason(self, job_id: int) -> str:
        if self._pending.priority(job_id) == HELD:
            return "held"
        head = self._pending.head()
        if head is not None and head != job_id:
            return f"behind {encode_f58(head)}"
        request = self._pending.request(job_id)
        return "next" if self._machine.fits(request) else shortage(self._machine, request, NOW)

    def in_order(self) -> Iterator[int]:
        return self._pending.in_order()

    def position(self, job_id: int) -> int:
        return self._pending.position(job_id)

    def usage(self, rank: int) -> tuple[int, int]:
        return self._machine.held(rank)

    def __len__(self) -> int:
        return len(self._pending)

    def _refuse_double_use(self, job_id: int, node: Node) -> None:
        rank, cores, gpus = node
        used_cores, used_gpus = self._machine.held(rank)
        if cores & used_cores or gpus & used_gpus:
            raise FluxlikeError(f"job {encode_f58(job_id)} claims what another job holds on rank {rank}")
