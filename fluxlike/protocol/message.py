"""The message: one msgpack array, payload as an inner `bin` so that a router forwards it undecoded (docs/rfc/001)."""

from __future__ import annotations

import msgpack

from fluxlike.errors import FluxlikeError, ProtocolError, from_wire
from fluxlike.protocol.payload import Payload

# As typing.TYPE_CHECKING, without the price of importing typing in every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    P = TypeVar("P", bound=Payload)

MAX_FRAME = 64 * 1024 * 1024
"""Bytes. A larger frame is refused unread; bulk submits and output are chunked far below it."""


class Kind:
    """Plain integers, as Flag: enum is slow to import, and its operators are Python code on every message."""

    REQUEST = 1
    RESPONSE = 2
    EVENT = 4
    CONTROL = 8


class Flag:
    NONE = 0
    STREAM = 1
    """Request: several responses are wanted. Response: more will follow."""
    END = 2
    """Last response of a stream; carries no body."""
    NO_RESPONSE = 4
    UPSTREAM = 8
    """Skip the sender's own broker: the nearest one above it that has the service."""
    CANCEL = 16
    """Not a request: the asker of the one with this tag has gone; stop working on it."""


ANY = -1
"""nodeid: the nearest broker, from here upwards, that has the service."""

ROLE_OWNER = 1

_pack: Callable[[object], bytes] = msgpack.Packer(default=lambda value: value.to_wire()).pack


def encode_body(body: object) -> bytes:
    return _pack(body)


def decode_body(data: bytes) -> Any:
    try:
        return msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:  # TypeError: a list as the key of a map
        raise ProtocolError(f"payload is not msgpack: {error}") from error


class Message:
    """One message. `body` is the live object inside a process; `data` its encoding, made only when it must leave."""

    __slots__ = (
        "_body",
        "_data",
        "error",
        "flags",
        "kind",
        "matchtag",
        "nodeid",
        "roles",
        "route",
        "sender",
        "topic",
        "userid",
    )

    def __init__(
        self,
        kind: int,
        topic: str,
        body: object = None,
        *,
        nodeid: int = ANY,
        matchtag: int = 0,
        sender: int = 0,
        userid: int = 0,
        roles: int = 0,
        flags: int = 0,
        error: tuple[str, str] | None = None,
        route: list[int] | None = None,
        data: bytes | None = None,
    ) -> None:
        self.kind = kind
        self.topic = topic
        self.nodeid = nodeid
        self.matchtag = matchtag
        self.sender = sender
        self.userid = userid
        self.roles = roles
        self.flags = flags
        self.error = error
        self.route: list[int] = [] if route is None else route
        self._body = body
        self._data = data

    @property
    def data(self) -> bytes:
        if self._data is None:
            self._data = _pack(self._body)
        return self._data

    @property
    def body(self) -> Any:
        """The decoded body: a Payload if it never left this process, plain maps and lists if it did."""
        if self._body is None and self._data is not None:
            self._body = decode_body(self._data)
        return self._body

    def read(self, cls: type[P]) -> P:
        """The body as `cls`, checked. Raises InvalidRequest."""
        body = self.body
        return body if isinstance(body, cls) else cls.from_wire(body)

    def failure(self) -> FluxlikeError | None:
        return None if self.error is None else from_wire(*self.error)

    def response(self, body: object = None, *, flags: int = 0, error: FluxlikeError | None = None) -> Message:
        """An answer to this request; it finds its way by the rank the request came from."""
        return Message(
            Kind.RESPONSE,
            self.topic,
            body,
            nodeid=self.route[0] if self.route else self.nodeid,
            matchtag=self.matchtag,
            sender=self.sender,
            flags=flags,
            error=None if error is None else (error.code, str(error)),
        )

    def __repr__(self) -> str:
        kind = _KINDS.get(self.kind, self.kind)
        return f"<{kind} {self.topic} node={self.nodeid} tag={self.matchtag} route={self.route}>"


def encode(message: Message) -> bytes:
    m = message
    return _pack(
        (
            m.kind,
            m.topic,
            m.nodeid,
            m.matchtag,
            m.sender,
            m.userid,
            m.roles,
            m.flags,
            m.error,
            m.route,
            m.data,
        )
    )


def decode(frame: bytes) -> Message:
    """Raises ProtocolError for anything that is not exactly one well-formed message."""
    try:
        fields = msgpack.unpackb(frame, use_list=True)
    except (ValueError, msgpack.UnpackException) as error:
        raise ProtocolError(f"frame is not msgpack: {error}") from error
    if not isinstance(fields, list) or len(fields) != 11:
        raise ProtocolError("frame is not a message array of 11 fields")
    kind, topic, nodeid, matchtag, sender, userid, roles, flags, fault, route, data = fields
    # Spelled out: a loop over the fields costs more than the rest of this function.
    if not (
        type(kind) is int
        and kind in _KINDS
        and type(topic) is str
        and type(data) is bytes
        and type(nodeid) is int
        and type(matchtag) is int
        and type(sender) is int
        and type(userid) is int
        and type(roles) is int
        and type(flags) is int
        and _is_route(route)
        and (fault is None or _is_fault(fault))
    ):
        raise ProtocolError("a field of the message array has the wrong type")
    return Message(
        kind,
        topic,
        nodeid=nodeid,
        matchtag=matchtag,
        sender=sender,
        userid=userid,
        roles=roles,
        flags=flags,
        error=None if fault is None else (fault[0], fault[1]),
        route=route,
        data=data,
    )


def _is_route(route: object) -> bool:
    return type(route) is list and (not route or all(type(rank) is int for rank in route))


def _is_fault(fault: object) -> bool:
    return type(fault) is list and len(fault) == 2 and all(type(part) is str for part in fault)


_KINDS = {Kind.REQUEST: "request", Kind.RESPONSE: "response", Kind.EVENT: "event", Kind.CONTROL: "control"}
