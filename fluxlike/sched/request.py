"""What a job asks for, reduced to the numbers that the first-come scheduler counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from fluxlike.errors import InvalidRequest, Unsatisfiable
from fluxlike.jobspec.model import Jobspec, Resource


class Request:
    """`slots` of `cores` and `gpus` each: on every one of `nodes` nodes, or anywhere in all if `nodes` is 0.

    `exclusive` takes whole nodes, on which nothing else runs. Values are never changed: jobs share one."""

    __slots__ = ("cores", "exclusive", "gpus", "nodes", "slots")

    def __init__(self, nodes: int, slots: int, cores: int, gpus: int = 0, exclusive: bool = False) -> None:
        if nodes < 0 or slots < 1 or cores < 0 or gpus < 0 or cores + gpus < 1:
            raise InvalidRequest(f"not a request: nodes={nodes} slots={slots} cores={cores} gpus={gpus}")
        self.nodes = nodes
        self.slots = slots
        self.cores = cores
        self.gpus = gpus
        self.exclusive = exclusive

    def slots_on(self, nodes: Iterable[tuple[int, int, int]]) -> tuple[int, ...]:
        """How many slots each of the nodes (rank, core mask, gpu mask) holds that were given for this request."""
        if self.nodes:
            return tuple(self.slots for _ in nodes)
        if self.cores:
            return tuple(cores.bit_count() // self.cores for _, cores, _ in nodes)
        return tuple(gpus.bit_count() // self.gpus for _, _, gpus in nodes)

    def _key(self) -> tuple[int, int, int, int, bool]:
        return self.nodes, self.slots, self.cores, self.gpus, self.exclusive

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Request) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"Request(nodes={self.nodes}, slots={self.slots}, cores={self.cores}, gpus={self.gpus}, "
            f"exclusive={self.exclusive})"
        )


def request_of(jobspec: Jobspec) -> Request:
    """Ranges ask for their least. Raises Unsatisfiable for what only a graph of resources could answer."""
    if jobspec.constraints:
        _refuse("constraints")
    if len(jobspec.resources) != 1:
        _refuse("more than one resource at the top")
    top = jobspec.resources[0]
    if top.type == "slot":
        cores, gpus = _slot(top)
        return Request(0, top.count.low, cores, gpus)
    if top.type != "node":
        _refuse(f"{top.type!r} resources at the top")
    if len(top.children) != 1 or top.children[0].type != "slot":
        _refuse("anything but one slot inside a node")
    slot = top.children[0]
    cores, gpus = _slot(slot)
    return Request(top.count.low, slot.count.low, cores, gpus, top.exclusive is True)


def _slot(slot: Resource) -> tuple[int, int]:
    """(cores, gpus) of one slot."""
    amounts = {"core": 0, "gpu": 0}
    for child in slot.children:
        if child.type not in amounts:
            _refuse(f"{child.type!r} resources inside a slot")
        if child.children:
            _refuse(f"resources inside a {child.type}")
        amounts[child.type] += child.count.low
    return amounts["core"], amounts["gpu"]


def _refuse(what: str) -> NoReturn:
    raise Unsatisfiable(
        f"the first-come scheduler cannot match {what}; it knows slot > (core, gpu) and node > slot > ..."
    )
