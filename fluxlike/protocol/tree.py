"""Control messages between a broker and its parent (docs/rfc/002). Their topic has no service: they end at the peer."""

from __future__ import annotations

from fluxlike.protocol.payload import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Hello(Payload):
    topic = "hello"
    rank: int
    instance: str
    version: str
    members: dict[int, Any]
    """Rank -> [uuid, host, parent] of all that is reached through the sender, itself included."""


class Keepalive(Payload):
    """To the parent and to the children, once per heartbeat."""

    topic = "keepalive"
    cut_off: float = 0.0
    """Downwards: seconds for which the sender has had no way to rank 0; 0 if it has one."""


class Joined(Payload):
    topic = "joined"
    members: dict[int, Any]


class Left(Payload):
    topic = "left"
    ranks: list[int]
    cleanly: bool


class Torpid(Payload):
    topic = "torpid"
    ranks: list[int]
    torpid: bool


class Goodbye(Payload):
    topic = "goodbye"


class Welcome(Payload):
    topic = "welcome"
    uuid: bytes
    root: bytes


class RootIs(Payload):
    """Rank 0 has another life than the one you knew."""

    topic = "root"
    root: bytes


class Who(Payload):
    """You are not known here: say hello."""

    topic = "who"


class Refuse(Payload):
    topic = "refuse"
    reason: str
