"""The first-come scheduler against a slow and obvious one, which keeps sets and computes all afresh."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fluxlike.errors import Unsatisfiable
from fluxlike.sched.first_come import FirstCome
from fluxlike.sched.interface import Allocation
from fluxlike.sched.request import Request

Inventory = tuple[frozenset[int], frozenset[int]]
"""(cores, gpus) of a node."""

RANKS = st.sampled_from([0, 1, 2, 3, 70])
JOBS = st.integers(1, 20)
LIMITS = st.sampled_from([100, 100, 100, 2, 1, 0])
PRIORITIES = st.sampled_from([0, 1, 16, 16, 16, 31])
CORES = st.integers(4, 8).map(lambda n: frozenset(range(n))) | st.frozensets(st.integers(0, 8))
INVENTORIES = st.tuples(CORES, st.frozensets(st.integers(0, 3)))


# Mostly small against the nodes: a head that can never run would block all that is to be tested behind it.
REQUESTS = st.builds(
    Request,
    nodes=st.sampled_from([0, 0, 0, 1, 1, 2, 3]),
    slots=st.sampled_from([1, 1, 1, 2, 3, 5]),
    cores=st.sampled_from([1, 1, 1, 2, 3, 4]),
    gpus=st.sampled_from([0, 0, 0, 0, 1, 2]),
    exclusive=st.sampled_from([False, False, False, True]),
) | st.builds(Request, nodes=st.just(0), slots=st.integers(1, 2), cores=st.just(0), gpus=st.integers(1, 2))


class Obvious:
    """What the scheduler should do, with no thought for speed."""

    def __init__(self) -> None:
        self.nodes: dict[int, Inventory] = {}
        self.up: set[int] = set()
        self.waiting: dict[int, tuple[Request, int]] = {}
        self.held: dict[int, dict[int, tuple[frozenset[int], frozenset[int], int]]] = {}

    def used(self, rank: int) -> Inventory:
        parts = [nodes[rank] for nodes in self.held.values() if rank in nodes]
        return frozenset().union(*(cores for cores, _, _ in parts)), frozenset().union(*(g for _, g, _ in parts))

    def free(self, rank: int) -> tuple[list[int], list[int]]:
        (cores, gpus), (used_cores, used_gpus) = self.nodes[rank], self.used(rank)
        return sorted(cores - used_cores), sorted(gpus - used_gpus)

    def order(self) -> list[int]:
        considered = [job for job, (_, priority) in self.waiting.items() if priority > 0]
        return sorted(considered, key=lambda job: (-self.waiting[job][1], job))

    def room(self, rank: int, request: Request) -> int:
        """Slots that fit on a node, counted by filling it."""
        cores, gpus = self.free(rank)
        if request.exclusive and self.used(rank) != (frozenset(), frozenset()):
            return 0
        slots = 0
        while slots < request.slots and len(cores) >= request.cores and len(gpus) >= request.gpus:
            cores, gpus = cores[request.cores :], gpus[request.gpus :]
            slots += 1
        return slots

    def place(self, request: Request) -> list[tuple[int, int]] | None:
        ranks = sorted(self.up & self.nodes.keys())
        if request.nodes:
            full = [(rank, request.slots) for rank in ranks if self.room(rank, request) == request.slots]
            return full[: request.nodes] if len(full) >= request.nodes else None
        placement, left = [], request.slots
        for rank in ranks:
            slots = min(left, self.room(rank, request))
            if slots:
                placement.append((rank, slots))
                left -= slots
        return None if left else placement

    def allocate(self, limit: int) -> list[tuple[int, Allocation]]:
        granted: list[tuple[int, Allocation]] = []
        for job in self.order()[:limit]:
            request = self.waiting[job][0]
            placement = self.place(request)
            if placement is None:
                break
            self.held[job] = {rank: self.take(rank, slots, request) for rank, slots in placement}
            del self.waiting[job]
            granted.append((job, self.allocation(job)))
        return granted

    def take(self, rank: int, slots: int, request: Request) -> tuple[frozenset[int], frozenset[int], int]:
        cores, gpus = self.free(rank)
        if not request.exclusive:
            cores, gpus = cores[: slots * request.cores], gpus[: slots * request.gpus]
        return frozenset(cores), frozenset(gpus), slots

    def allocation(self, job: int) -> Allocation:
        nodes = sorted(self.held[job].items())
        return Allocation(
            tuple((rank, mask(cores), mask(gpus)) for rank, (cores, gpus, _) in nodes),
            tuple(slots for _, (_, _, slots) in nodes),
        )


def mask(ids: frozenset[int]) -> int:
    return sum(1 << number for number in ids)


class AgreesWithObvious(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scheduler = FirstCome()
        self.obvious = Obvious()

    @initialize(inventories=st.lists(INVENTORIES, min_size=1, max_size=4))
    def there_are_nodes(self, inventories: list[Inventory]) -> None:
        for rank, inventory in enumerate(inventories):
            self.a_node_is_defined(rank, inventory, True)

    @rule(rank=RANKS, inventory=INVENTORIES, available=st.sampled_from([True, True, True, False]))
    def a_node_is_defined(self, rank: int, inventory: Inventory, available: bool) -> None:
        # What jobs hold stays part of a node here: that a node may shrink below it is a unit test.
        used_cores, used_gpus = self.obvious.used(rank)
        cores, gpus = inventory[0] | used_cores, inventory[1] | used_gpus
        self.obvious.nodes[rank] = (cores, gpus)
        self.scheduler.define(rank, f"node{rank}", mask(cores), mask(gpus))
        self.availability_changes(rank, available)

    @rule(rank=RANKS, available=st.booleans())
    def availability_changes(self, rank: int, available: bool) -> None:
        (self.obvious.up.add if available else self.obvious.up.discard)(rank)
        self.scheduler.set_available(rank, available)

    @rule(asked=st.lists(st.tuples(JOBS, REQUESTS, PRIORITIES), min_size=1, max_size=6), limit=LIMITS)
    def jobs_ask(self, asked: list[tuple[int, Request, int]], limit: int) -> None:
        for job, request, priority in asked:
            if job not in self.obvious.held:
                self.obvious.waiting[job] = (request, priority)
            self.scheduler.enqueue(job, request, priority)
        self.jobs_are_started(limit)

    @rule(job=JOBS)
    def a_job_gives_up(self, job: int) -> None:
        self.obvious.waiting.pop(job, None)
        self.scheduler.dequeue(job)

    @rule(job=JOBS, priority=PRIORITIES)
    def a_priority_changes(self, job: int, priority: int) -> None:
        if job in self.obvious.waiting:
            self.obvious.waiting[job] = (self.obvious.waiting[job][0], priority)
        self.scheduler.reprioritize(job, priority)

    @rule(limit=LIMITS)
    def jobs_are_started(self, limit: int) -> None:
        before = self.obvious.order()
        granted = self.scheduler.allocate(limit)
        assert [job for job, _ in granted] == before[: len(granted)]
        assert granted == self.obvious.allocate(limit)

    @precondition(lambda self: self.obvious.held)
    @rule(data=st.data(), ranks=st.none() | st.sets(RANKS), limit=LIMITS)
    def a_job_ends(self, data: st.DataObject, ranks: set[int] | None, limit: int) -> None:
        job = data.draw(st.sampled_from(sorted(self.obvious.held)))
        held = self.obvious.held[job]
        for rank in list(held) if ranks is None else ranks & held.keys():
            del held[rank]
        if not held:
            del self.obvious.held[job]
        self.scheduler.release(job, ranks)
        self.jobs_are_started(limit)

    @rule()
    def the_scheduler_restarts(self) -> None:
        fresh = FirstCome()
        for job in self.obvious.held:
            fresh.adopt(job, self.obvious.allocation(job))
        for rank, (cores, gpus) in self.obvious.nodes.items():
            fresh.define(rank, f"node{rank}", mask(cores), mask(gpus))
        for rank in self.obvious.up:
            fresh.set_available(rank, True)
        for job, (request, priority) in self.obvious.waiting.items():
            fresh.enqueue(job, request, priority)
        self.scheduler = fresh

    @invariant()
    def allocated_plus_free_is_the_whole(self) -> None:
        machine = self.scheduler._machine
        for rank, (cores, gpus) in self.obvious.nodes.items():
            used_cores, used_gpus = self.scheduler.usage(rank)
            assert used_cores.bit_count() + machine.cores[rank] == len(cores)
            assert used_gpus.bit_count() + machine.gpus[rank] == len(gpus)
        usable = [rank for rank in self.obvious.nodes if rank in self.obvious.up]
        assert machine.free_cores == sum(machine.cores[rank] for rank in usable)
        assert machine.free_gpus == sum(machine.gpus[rank] for rank in usable)

    @invariant()
    def nothing_is_given_twice_and_usage_is_what_jobs_hold(self) -> None:
        held = self.scheduler._held
        assert held == {job: self.obvious.allocation(job) for job in self.obvious.held}
        for rank in (0, 1, 2, 3, 70):
            nodes = [node for allocation in held.values() for node in allocation.nodes if node[0] == rank]
            # A sum equals a union only if no bit is in two of the masks.
            assert self.scheduler.usage(rank) == (sum(n[1] for n in nodes), sum(n[2] for n in nodes))

    @invariant()
    def positions_and_reasons_are_those_of_the_order(self) -> None:
        order = self.obvious.order()
        assert len(self.scheduler) == len(self.obvious.waiting)
        for job, (request, priority) in self.obvious.waiting.items():
            position = order.index(job) + 1 if priority else 0
            assert self.scheduler.position(job) == position
            reason = self.scheduler.reason(job)
            assert (reason == "held") == (position == 0)
            assert reason.startswith("behind ") == (position > 1)
            assert (reason == "next") == (position == 1 and self.obvious.place(request) is not None)


AgreesWithObvious.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestFirstComeAgreesWithTheObviousScheduler = AgreesWithObvious.TestCase


def machine_of(nodes: list[Inventory], up: bool) -> FirstCome:
    scheduler = FirstCome()
    for rank, (cores, gpus) in enumerate(nodes):
        scheduler.define(rank, f"node{rank}", mask(cores), mask(gpus))
        scheduler.set_available(rank, up)
    return scheduler


def accepts(scheduler: FirstCome, request: Request) -> bool:
    try:
        scheduler.check(request)
    except Unsatisfiable:
        return False
    return True


@given(nodes=st.lists(INVENTORIES, max_size=5), request=REQUESTS, busy=st.lists(REQUESTS, max_size=3))
def test_what_is_accepted_is_exactly_what_an_empty_machine_can_run(
    nodes: list[Inventory], request: Request, busy: list[Request]
) -> None:
    empty = machine_of(nodes, up=True)
    empty.enqueue(1, request, 16)
    runs = len(empty.allocate(1)) == 1

    assert accepts(machine_of(nodes, up=False), request) == runs
    at_work = machine_of(nodes, up=True)
    for job, other in enumerate(busy, start=100):
        at_work.enqueue(job, other, 16)
    at_work.allocate(100)
    assert accepts(at_work, request) == runs


@given(nodes=st.lists(INVENTORIES, max_size=5), request=REQUESTS)
def test_a_refusal_names_a_number_that_is_really_short(nodes: list[Inventory], request: Request) -> None:
    try:
        machine_of(nodes, up=True).check(request)
    except Unsatisfiable as error:
        text = str(error)
        numbers = [int(word) for word in text.replace(",", "").split() if word.isdigit()]
        assert "no node is available" in text or numbers[0] > numbers[-1]
