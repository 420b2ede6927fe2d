"""Does this request fit here, and on which nodes? Cores and gpus are counted, low ranks filled first."""

from __future__ import annotations

from itertools import islice

from fluxlike.sched.interface import Allocation, Node
from fluxlike.sched.request import Request
from fluxlike.sched.tally import Tally, ranks_in

Placement = list[tuple[int, int]]
"""(rank, slots there), ranks ascending."""


class _State:
    """One node: masks of what it has and of what jobs hold, and what the machine's sums have of it."""

    __slots__ = (
        "cores",
        "counted_cores",
        "counted_gpus",
        "defined",
        "free_cores",
        "free_gpus",
        "gpus",
        "idle",
        "up",
        "usable",
        "used_cores",
        "used_gpus",
    )

    def __init__(self) -> None:
        self.cores = self.gpus = self.used_cores = self.used_gpus = self.free_cores = self.free_gpus = 0
        self.counted_cores = self.counted_gpus = 0
        self.defined = self.up = self.usable = self.idle = False


class Machine:
    """Nodes and what is free on them. A node not defined yet may be held by jobs; it offers nothing."""

    __slots__ = ("_idle", "_nodes", "_usable", "cores", "free_cores", "free_gpus", "gpus")

    def __init__(self) -> None:
        self.cores = Tally()
        """Free cores of each rank."""
        self.gpus = Tally()
        self.free_cores = 0
        """On all usable nodes together."""
        self.free_gpus = 0
        self._nodes: dict[int, _State] = {}
        self._usable = 0
        self._idle = 0

    def define(self, rank: int, cores: int, gpus: int) -> None:
        state = self._state(rank)
        state.cores, state.gpus, state.defined = cores, gpus, True
        self._update(rank, state)

    def set_up(self, rank: int, up: bool) -> None:
        state = self._state(rank)
        state.up = up
        self._update(rank, state)

    def pool(self, exclusive: bool) -> int:
        """The set of ranks that may be considered at all."""
        return self._usable & self._idle if exclusive else self._usable

    def held(self, rank: int) -> tuple[int, int]:
        node = self._nodes.get(rank)
        return (node.used_cores, node.used_gpus) if node else (0, 0)

    def fits(self, request: Request) -> bool:
        if request.nodes:
            return self.candidates(request).bit_count() >= request.nodes
        return self._place(request) is not None

    def allocate(self, request: Request) -> Allocation | None:
        """Holds what the request asks for, or touches nothing and returns None."""
        placement = self._place(request)
        if placement is None:
            return None
        nodes = tuple([self._take(rank, slots, request) for rank, slots in placement])
        return Allocation(nodes, tuple([slots for _, slots in placement]))

    def hold(self, node: Node) -> None:
        rank, cores, gpus = node
        state = self._state(rank)
        state.used_cores |= cores
        state.used_gpus |= gpus
        self._update(rank, state)

    def free(self, node: Node) -> None:
        rank, cores, gpus = node
        state = self._state(rank)
        state.used_cores &= ~cores
        state.used_gpus &= ~gpus
        self._update(rank, state)

    def candidates(self, request: Request) -> int:
        """The set of ranks that can take all slots of a node, or one slot if it may go anywhere."""
        slots = request.slots if request.nodes else 1
        fit = self.pool(request.exclusive)
        if request.cores:
            fit &= self.cores.at_least(request.cores * slots)
        if request.gpus:
            fit &= self.gpus.at_least(request.gpus * slots)
        return fit

    def room(self, rank: int, request: Request) -> int:
        """How many slots of this request a rank could take, at most those asked for."""
        room = request.slots
        if request.cores:
            room = min(room, self.cores[rank] // request.cores)
        if request.gpus:
            room = min(room, self.gpus[rank] // request.gpus)
        return room

    def _place(self, request: Request) -> Placement | None:
        fit = self.candidates(request)
        if request.nodes:
            if fit.bit_count() < request.nodes:
                return None
            return [(rank, request.slots) for rank in islice(ranks_in(fit), request.nodes)]
        if request.slots == 1:  # the commonest job of all
            return [((fit & -fit).bit_length() - 1, 1)] if fit else None
        return self._spread(request, fit)

    def _spread(self, request: Request, fit: int) -> Placement | None:
        left = request.slots
        # Without this a blocked head would walk all nodes whenever one core comes free.
        if left * request.cores > self.free_cores or left * request.gpus > self.free_gpus:
            return None
        placement: Placement = []
        for rank in ranks_in(fit):
            slots = min(left, self.room(rank, request))
            placement.append((rank, slots))
            left -= slots
            if not left:
                return placement
        return None

    def _take(self, rank: int, slots: int, request: Request) -> Node:
        state = self._nodes[rank]
        if request.exclusive:
            cores, gpus = state.free_cores, state.free_gpus
        else:
            cores = lowest(state.free_cores, slots * request.cores)
            gpus = lowest(state.free_gpus, slots * request.gpus)
        node = (rank, cores, gpus)
        self.hold(node)
        return node

    def _state(self, rank: int) -> _State:
        state = self._nodes.get(rank)
        if state is None:
            state = self._nodes[rank] = _State()
        return state

    def _update(self, rank: int, state: _State) -> None:
        """Everything that follows from a node's masks and flags."""
        state.free_cores = state.cores & ~state.used_cores
        state.free_gpus = state.gpus & ~state.used_gpus
        self.cores.put(rank, state.free_cores.bit_count())
        self.gpus.put(rank, state.free_gpus.bit_count())
        usable = state.up and state.defined
        if usable is not state.usable:
            state.usable = usable
            self._usable ^= 1 << rank
        idle = not (state.used_cores or state.used_gpus)
        if idle is not state.idle:
            state.idle = idle
            self._idle ^= 1 << rank
        self._count(rank, state)

    def _count(self, rank: int, state: _State) -> None:
        cores, gpus = (self.cores[rank], self.gpus[rank]) if state.usable else (0, 0)
        self.free_cores += cores - state.counted_cores
        self.free_gpus += gpus - state.counted_gpus
        state.counted_cores, state.counted_gpus = cores, gpus


def lowest(mask: int, number: int) -> int:
    """The `number` lowest bits of a mask that has as many."""
    if not number:
        return 0
    first = mask & -mask
    run = (first << number) - first
    if run & mask == run:  # the common case: they lie side by side
        return run
    taken = 0
    for _ in range(number):
        low = mask & -mask
        taken |= low
        mask ^= low
    return taken
