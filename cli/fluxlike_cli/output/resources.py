"""Nodes grouped as the resource listings show them. Pure: nodes in, rows out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fluxlike.hostlist import Hostlist
from fluxlike.idset import Idset, parse_mask


class Node:
    """One row of the resource service's answer, its idsets as masks."""

    __slots__ = (
        "cores",
        "drained",
        "drained_at",
        "gpus",
        "host",
        "rank",
        "reason",
        "torpid",
        "up",
        "used_cores",
        "used_gpus",
    )

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.rank: int = row["rank"]
        self.host: str = row["host"]
        self.up: bool = row["up"]
        self.torpid: bool = row["torpid"]
        self.drained: bool = row["drained"]
        self.reason: str = row["reason"]
        self.drained_at: float = row["drained_at"]
        self.cores = parse_mask(row["cores"])
        self.gpus = parse_mask(row["gpus"])
        self.used_cores = parse_mask(row["used_cores"])
        self.used_gpus = parse_mask(row["used_gpus"])

    @property
    def available(self) -> bool:
        """Whether a job may be started here."""
        return self.up and not self.drained

    @property
    def busy(self) -> bool:
        return bool(self.used_cores | self.used_gpus)

    @property
    def state(self) -> str:
        """The word of `resource status`: avail, draining, drained, torpid or offline."""
        if self.drained:
            return "draining" if self.busy else "drained"
        if not self.up:
            return "offline"
        return "torpid" if self.torpid else "avail"


class Share:
    """Some cores and GPUs on some nodes: one line of `resource list`."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.ncores = self.ngpus = 0
        self._nodes: list[Node] = []

    def add(self, node: Node, cores: int, gpus: int) -> None:
        if cores or gpus:
            self.ncores += cores.bit_count()
            self.ngpus += gpus.bit_count()
            self._nodes.append(node)

    @property
    def nnodes(self) -> int:
        return len(self._nodes)

    @property
    def nodelist(self) -> str:
        return nodelist(self._nodes)

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "nnodes": self.nnodes,
            "ncores": self.ncores,
            "ngpus": self.ngpus,
            "ranks": str(Idset.of(node.rank for node in self._nodes)),
            "nodelist": self.nodelist,
        }


def _free(node: Node) -> tuple[int, int]:
    return (node.cores & ~node.used_cores, node.gpus & ~node.used_gpus) if node.available else (0, 0)


def _allocated(node: Node) -> tuple[int, int]:
    return node.used_cores, node.used_gpus


def _down(node: Node) -> tuple[int, int]:
    return (0, 0) if node.available else (node.cores & ~node.used_cores, node.gpus & ~node.used_gpus)


def _up(node: Node) -> tuple[int, int]:
    return (node.cores, node.gpus) if node.available else (0, 0)


def _all(node: Node) -> tuple[int, int]:
    return node.cores, node.gpus


PARTS: dict[str, Callable[[Node], tuple[int, int]]] = {
    "free": _free,
    "allocated": _allocated,
    "down": _down,
    "up": _up,
    "all": _all,
}
"""What of a node belongs to each state. free, allocated and down share out every core, each counted once."""


def share(state: str, nodes: Iterable[Node]) -> Share:
    result = Share(state)
    for node in nodes:
        result.add(node, *PARTS[state](node))
    return result


def nodelist(nodes: Iterable[Node]) -> str:
    return str(Hostlist.of(node.host for node in nodes))


def grouped(nodes: Iterable[Node], key: Callable[[Node], Any]) -> list[tuple[Any, list[Node]]]:
    """Nodes with equal keys together, groups in the order in which they first appear."""
    groups: dict[Any, list[Node]] = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return list(groups.items())
