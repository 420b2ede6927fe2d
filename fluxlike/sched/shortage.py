"""What a machine lacks for a request, with numbers: why it can never run, or why it waits."""

from __future__ import annotations

from fluxlike.sched.match import Machine
from fluxlike.sched.request import Request
from fluxlike.sched.tally import Tally, ranks_in


class Wording:
    """How the same shortage is said of an empty machine and of one at work."""

    __slots__ = ("has", "have", "idle", "most")

    def __init__(self, *, idle: str, has: str, most: str, have: str) -> None:
        self.idle = idle
        self.has = has
        self.most = most
        self.have = have


EVER = Wording(idle="", has="{} in all", most="the largest node has {}", have="{} such in all")
NOW = Wording(idle="idle ", has="{} free now", most="at most {} free on one now", have="{} such free now")


def shortage(machine: Machine, request: Request, wording: Wording) -> str:
    """The first thing that is short: nodes, what one of them must give, the sum, room for all slots."""
    pool = machine.pool(request.exclusive)
    if not pool:
        return f"no {wording.idle if request.exclusive else ''}node is available"
    if request.nodes > pool.bit_count():
        idle = wording.idle if request.exclusive else ""
        return f"needs {_number(request.nodes, idle + 'node')}, {wording.has.format(pool.bit_count())}"
    return (
        _short_on_one_node(machine, request, pool, wording)
        or _short_in_sum(machine, request, pool, wording)
        or _short_of_room(machine, request, wording)
    )


def _short_on_one_node(machine: Machine, request: Request, pool: int, wording: Wording) -> str:
    slots = request.slots if request.nodes else 1
    for kind, amount, tally in (("core", request.cores, machine.cores), ("gpu", request.gpus, machine.gpus)):
        if amount and not tally.at_least(amount * slots) & pool:
            most = max(tally[rank] for rank in ranks_in(pool))
            return f"needs {_number(amount * slots, kind)} on one node, {wording.most.format(most)}"
    return ""


def _short_in_sum(machine: Machine, request: Request, pool: int, wording: Wording) -> str:
    if request.nodes:
        return ""
    for kind, amount, tally in (("core", request.cores, machine.cores), ("gpu", request.gpus, machine.gpus)):
        total = _sum(tally, pool)
        if amount * request.slots > total:
            return f"needs {_number(amount * request.slots, kind)}, {wording.has.format(total)}"
    return ""


def _sum(tally: Tally, pool: int) -> int:
    return sum(tally[rank] for rank in ranks_in(pool))


def _short_of_room(machine: Machine, request: Request, wording: Wording) -> str:
    candidates = machine.candidates(request)
    if request.nodes:
        have = wording.have.format(candidates.bit_count())
        return f"needs {_number(request.nodes, 'node')} with {_each(request, request.slots)}, {have}"
    room = sum(machine.room(rank, request) for rank in ranks_in(candidates))
    return f"needs {_number(request.slots, 'slot')} of {_each(request, 1)}, there is room for {room}"


def _each(request: Request, slots: int) -> str:
    parts = (("core", request.cores * slots), ("gpu", request.gpus * slots))
    return " and ".join(_number(amount, kind) for kind, amount in parts if amount)


def _number(amount: int, kind: str) -> str:
    return f"{amount} {kind}" if amount == 1 else f"{amount} {kind}s"
