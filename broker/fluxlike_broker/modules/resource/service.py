"""The resource service of rank 0: nodes as they join, leave, go torpid and are drained."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from fluxlike.clock import Clock
from fluxlike.errors import InvalidRequest
from fluxlike.hostlist import Hostlist
from fluxlike.idset import Idset, mask_text, parse_mask
from fluxlike.protocol.instance import Drained, ResourceDrain, ResourceNodes, ResourceStatus, ResourceUndrain
from fluxlike.protocol.internal import NodeJoined, NodesChanged, Usage, UsageReply
from fluxlike.protocol.message import Message
from fluxlike_broker.call import Call
from fluxlike_broker.router import Router
from fluxlike_broker.service import request


class Notebook(Protocol):
    def put(self, key: str, value: str) -> None: ...
    def after_commit(self, callback: Callable[[], None]) -> None: ...


class Node:
    __slots__ = ("cores", "drained_at", "gpus", "host", "known", "online", "rank", "reason", "torpid")

    def __init__(self, rank: int, host: str) -> None:
        self.rank = rank
        self.host = host
        self.cores = 0
        self.gpus = 0
        self.known = False
        """Whether it ever told what it has; until then it is taken to be like the first that did."""
        self.online = False
        self.torpid = False
        self.drained_at = 0.0
        self.reason = ""

    @property
    def available(self) -> bool:
        return self.online and not self.torpid and not self.drained_at


class Resources:
    def __init__(
        self,
        router: Router,
        clock: Clock,
        hosts: tuple[str, ...],
        notes: Callable[[], Notebook],
        settle: Callable[[], None],
    ) -> None:
        """`notes` is the open batch of the store; `settle` has it committed."""
        self._router = router
        self._clock = clock
        self._notes = notes
        self._settle = settle
        self.nodes = [Node(rank, host) for rank, host in enumerate(hosts)]
        router.subscribe("overlay.left", self._on_left)
        router.subscribe("overlay.torpid", self._on_torpid)

    def restore(self, state: dict[str, str]) -> None:
        """Drain state is sticky over a restart."""
        for node in self.nodes:
            saved = state.get(f"drain.{node.rank}")
            if saved:
                node.drained_at, node.reason = json.loads(saved)

    @property
    def drained(self) -> int:
        return sum(1 for node in self.nodes if node.drained_at)

    @request(NodeJoined)
    def join(self, body: NodeJoined, call: Call) -> None:
        node = self.nodes[body.rank]
        node.host = body.host
        node.cores, node.gpus = parse_mask(body.cores), parse_mask(body.gpus)
        node.known = node.online = True
        node.torpid = False
        changed = [node]
        for other in self.nodes:
            if not other.known and not other.cores:
                other.cores, other.gpus = node.cores, node.gpus
                changed.append(other)
        self._tell(changed)

    def _on_left(self, name: str, body: Any, sequence: int) -> None:
        gone = [self.nodes[rank] for rank in body["ranks"]]
        for node in gone:
            node.online = False
        self._tell(gone)

    def _on_torpid(self, name: str, body: Any, sequence: int) -> None:
        changed = [self.nodes[rank] for rank in body["ranks"]]
        for node in changed:
            node.torpid = body["torpid"]
        self._tell(changed)

    def _tell(self, nodes: list[Node]) -> None:
        rows = [(node.rank, node.host, node.cores, node.gpus, node.available) for node in nodes]
        self._router.request(NodesChanged(rows=rows))

    @request(ResourceStatus)
    def status(self, body: ResourceStatus, call: Call) -> None:
        self._router.request(Usage(), lambda reply: call.respond(self._status(reply)))

    def _status(self, reply: Message) -> ResourceNodes:
        usage = reply.read(UsageReply).usage
        return ResourceNodes(nodes=[_record(node, usage.get(node.rank, (0, 0))) for node in self.nodes])

    @request(ResourceDrain)
    def drain(self, body: ResourceDrain, call: Call) -> None:
        targets = self._targets(body.targets)
        for node in targets:
            node.drained_at = node.drained_at or self._clock.now()
            node.reason = body.reason or node.reason
        self._save(targets, call)

    @request(ResourceUndrain)
    def undrain(self, body: ResourceUndrain, call: Call) -> None:
        targets = self._targets(body.targets)
        idle = [node for node in targets if not node.drained_at]
        if idle:
            raise InvalidRequest(f"{Hostlist.of(node.host for node in idle)} is not drained")
        for node in targets:
            node.drained_at, node.reason = 0.0, ""
        self._save(targets, call)

    def _save(self, nodes: list[Node], call: Call) -> None:
        notes = self._notes()
        for node in nodes:
            saved = json.dumps([node.drained_at, node.reason]) if node.drained_at else ""
            notes.put(f"drain.{node.rank}", saved)
        ranks = str(Idset.of(node.rank for node in nodes))
        notes.after_commit(lambda: call.respond(Drained(ranks=ranks)))
        self._settle()
        self._tell(nodes)

    def _targets(self, text: str) -> list[Node]:
        """Ranks or host names. Raises InvalidRequest naming the one that is unknown."""
        if text.strip("[]").replace(",", "").replace("-", "").isdigit():
            ranks = list(Idset.parse(text))
            beyond = [rank for rank in ranks if rank >= len(self.nodes)]
            if beyond:
                raise InvalidRequest(f"there is no rank {beyond[0]}; ranks are 0 to {len(self.nodes) - 1}")
            return [self.nodes[rank] for rank in ranks]
        by_host: dict[str, list[Node]] = {}
        for node in self.nodes:
            by_host.setdefault(node.host, []).append(node)
        found: list[Node] = []
        for host in Hostlist.parse(text):
            if host not in by_host:
                known = Hostlist.of(node.host for node in self.nodes)
                raise InvalidRequest(f"there is no host {host}; hosts are {known}")
            found.extend(by_host[host])
        if not found:
            raise InvalidRequest("no rank or host is named")
        return found


def _record(node: Node, used: tuple[int, int]) -> dict[str, Any]:
    return {
        "rank": node.rank,
        "host": node.host,
        "up": node.online,
        "torpid": node.torpid,
        "drained": bool(node.drained_at),
        "reason": node.reason,
        "drained_at": node.drained_at,
        "cores": mask_text(node.cores),
        "gpus": mask_text(node.gpus),
        "used_cores": mask_text(used[0]),
        "used_gpus": mask_text(used[1]),
    }
