"""Bytes that no broker should ever get, and a way to send them to any stream socket."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import zmq

from fluxlike.protocol.framing import frame
from fluxlike.protocol.message import MAX_FRAME

Address = str | tuple[str, int]
"""Path of a unix socket, or host and port."""

HUGE = 100 * 1024 * 1024

_random = random.Random(20)

STREAMS: dict[str, bytes] = {
    "nothing": b"",
    "one byte": b"\0",
    "random bytes": _random.randbytes(100_000),
    "random text": b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n" * 100,
    "half a frame": (1000).to_bytes(4, "big") + b"x" * 499,
    "half a length": b"\0\0",
    "an empty frame": frame(b""),
    "the largest length": b"\xff\xff\xff\xff" + b"x" * 1000,
    "a frame of 100 MB": HUGE.to_bytes(4, "big") + bytes(HUGE),
    "a length just over the limit": (MAX_FRAME + 1).to_bytes(4, "big") + b"x" * 1000,
    "a frame of noise": frame(_random.randbytes(5000)),
    "half a greeting of zmq": b"\xff\0\0\0\0\0\0\0\x01\x7f",
    "a greeting of zmq without security": b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL" + bytes(48),
}
"""What may come by a stream before anything is known of the sender."""

_DEEP = msgpack.packb(None)
for _ in range(2000):
    _DEEP = b"\x91" + _DEEP

_NOTHING: bytes = msgpack.packb(None)


def message(**fields: Any) -> bytes:
    """A message as brokers and clients send it (docs/rfc/001), with some fields as a test wants them."""
    good: dict[str, Any] = {
        "kind": 1,
        "topic": "broker.ping",
        "nodeid": -1,
        "matchtag": 1,
        "sender": 0,
        "userid": 0,
        "roles": 1,
        "flags": 0,
        "error": None,
        "route": [],
        "data": _NOTHING,
    }
    return bytes(msgpack.packb(list({**good, **fields}.values())))


MESSAGES: dict[str, bytes] = {
    "no msgpack": b"\xc1\xc1\xc1",
    "a number": msgpack.packb(7),
    "a map": msgpack.packb({"topic": "job.submit"}),
    "an empty array": msgpack.packb([]),
    "too few fields": msgpack.packb([1, "broker.ping"]),
    "too many fields": msgpack.packb([1] * 500),
    "two messages in one": message() + message(),
    "a message with a tail": message() + b"tail",
    "deep nesting": _DEEP,
    "an endless array": b"\xdd\xff\xff\xff\xff",
    "a text that is not UTF-8": b"\x9b\x01\xa4\xff\xfe\xfd\xfc" + bytes(9),
    "an unknown kind": message(kind=77),
    "a kind that is text": message(kind="request"),
    "an event": message(kind=4, topic="broker.stop"),
    "a response": message(kind=2),
    "a control message": message(kind=8, topic="goodbye"),
    "a topic that is no text": message(topic=5),
    "a rank that is text": message(nodeid="0"),
    "a route of text": message(route=["a"]),
    "an error of one word": message(error=["x"]),
    "a body that is text": message(data="x"),
    "a number beyond 64 bits": message()[:-1] + b"\xcf" + b"\xff" * 8,
}
"""Frames that are no message, or none that a client may send."""

BODIES: dict[str, bytes] = {
    "no msgpack": b"\xc1",
    "no map": msgpack.packb([1, 2]),
    "an unknown field": msgpack.packb({"nonsense": 1}),
    "keys that are numbers": msgpack.packb({1: 2}),
    "deep nesting": _DEEP,
    "jobs that are no rows": msgpack.packb({"specs": [{}], "jobs": [7]}),
    "specs that are no maps": msgpack.packb({"specs": [7], "jobs": [[0, None]]}),
    "an id beyond 64 bits": msgpack.packb({"id": 2**64 - 1, "keys": ["R"]}),
    "a negative id": msgpack.packb({"id": -5}),
    "ids that are text": msgpack.packb({"ids": ["x"]}),
    "bytes for text": msgpack.packb({"name": b"\xff"}),
}
"""Payloads for any topic."""


@contextmanager
def connected(address: Address, timeout: float = 10.0) -> Iterator[socket.socket]:
    """A connection to a unix or a TCP socket."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as stream:
        # In this order: with a timeout set, a connect to a queue that is full fails instead of waiting its turn.
        stream.connect(address)
        stream.settimeout(timeout)
        yield stream


@contextmanager
def dealer(endpoint: str, identity: bytes, keys: tuple[bytes, bytes] | None, server: bytes = b"") -> Iterator[Any]:
    """A socket such as brokers hang on their parent with. `keys`: public and secret; None: no CURVE at all."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.routing_id = identity
        if keys is not None:
            socket.curve_publickey, socket.curve_secretkey = keys
            socket.curve_serverkey = server or keys[0]
        socket.connect(endpoint)
        yield socket


def throw(address: Address, data: bytes) -> None:
    """Connect, send all that the other side takes, and leave."""
    with connected(address) as stream:
        push(stream, data)


def push(stream: socket.socket, data: bytes) -> bool:
    """False if the other side hung up before it had taken everything."""
    try:
        stream.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def hung_up(stream: socket.socket) -> bool:
    """Reads what comes; True once the other side closes. Raises TimeoutError if it does not."""
    try:
        while stream.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True
