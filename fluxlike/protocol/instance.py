"""Topics about the instance itself: brokers, attributes, events, logs, tree and resources."""

from __future__ import annotations

from fluxlike.protocol.payload import Payload

# As typing.TYPE_CHECKING, without the price of importing typing in every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Pong(Payload):
    rank: int
    userid: int
    route: list[int]
    """Ranks that the request passed, the asker's broker first, the answering one last."""
    pad: bytes


class Ping(Payload):
    topic = "broker.ping"
    pad: bytes = b""


class UptimeReply(Payload):
    state: str
    since: float
    """Wall time at which this instance entered its state."""
    started: float
    size: int
    online: int
    level: int
    owner: int
    drained: int
    store: str
    """Where jobs are kept and how durable an acknowledged submit is."""
    notices: list[str]


class Uptime(Payload):
    topic = "broker.uptime"


class Shutdown(Payload):
    """A stream of ShutdownProgress; the connection then closes with the broker."""

    topic = "broker.shutdown"


class ShutdownProgress(Payload):
    text: str


class AttrValue(Payload):
    name: str
    value: str


class AttrGet(Payload):
    topic = "attr.get"
    name: str


class AttrListed(Payload):
    attrs: dict[str, Any]


class AttrList(Payload):
    topic = "attr.list"


class LogEntries(Payload):
    entries: list[Any]
    """Rows of [wall time, rank, level name, logger, text]."""


class Dmesg(Payload):
    """The broker's log ring, then, with `follow`, what is added to it (stream of LogEntries)."""

    topic = "log.dmesg"
    follow: bool = False


class EventPublished(Payload):
    sequence: int


class EventPublish(Payload):
    topic = "event.publish"
    name: str
    body: Any = None


class EventSubscribe(Payload):
    """A stream of EventSeen for every event whose name starts with `prefix`."""

    topic = "subscription.open"
    prefix: str = ""


class EventSeen(Payload):
    sequence: int
    name: str
    body: Any


class OverlayTree(Payload):
    tree: dict[str, Any]
    """{rank, host, status: full|partial|degraded|lost|offline, since, torpid, children: [...]}."""


class OverlayStatus(Payload):
    topic = "overlay.status"


class ResourceNodes(Payload):
    nodes: list[dict[str, Any]]
    """{rank, host, up, torpid, drained, reason, drained_at, cores, gpus, used_cores, used_gpus}; idsets as text."""


class ResourceStatus(Payload):
    topic = "resource.status"


class Drained(Payload):
    ranks: str


class ResourceDrain(Payload):
    """`targets` is an idset of ranks or a hostlist."""

    topic = "resource.drain"
    targets: str
    reason: str = ""


class ResourceUndrain(Payload):
    topic = "resource.undrain"
    targets: str


class ExecOutput(Payload):
    """One piece of a remote command: output, or its end (`status`, a wait status; `error` if it never started)."""

    stream: str = ""
    data: bytes = b""
    status: int = -1
    error: str = ""


class ExecRun(Payload):
    """Run a command under one rank's executor, outside the queue: a stream of ExecOutput. It dies with its caller."""

    topic = "rexec.run"
    command: list[str]
    cwd: str = ""
    env: dict[str, Any] = {}


class ExecTaken(Payload):
    """So many answers to the rexec.run with the same tag are on their way to the client, and it reads: send more.

    Sent by the broker that the client is connected to; no answer."""

    topic = "rexec.taken"
    count: int
