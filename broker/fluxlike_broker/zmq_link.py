"""ZeroMQ sockets on the asyncio loop: edge-triggered draining, CURVE, and the gatekeeper of keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import zmq
import zmq.utils.z85

from fluxlike.errors import ConfigError
from fluxlike.protocol.message import MAX_FRAME

log = logging.getLogger("fluxlike.overlay")

FAIR_SHARE = 256
"""Messages taken from one socket before others get a turn."""

# As plain numbers: pyzmq's enums cost microseconds at every look.
EVENTS, POLLIN, NOBLOCK, SNDMORE = int(zmq.EVENTS), int(zmq.POLLIN), int(zmq.NOBLOCK), int(zmq.SNDMORE)

ZAP_ENDPOINT = "inproc://zeromq.zap.01"


class Link:
    """One socket. Its file descriptor is edge-triggered: after a send, what arrived meanwhile must be looked for."""

    def __init__(self, socket: zmq.Socket[bytes], on_frames: Callable[[list[bytes]], None]) -> None:
        self._socket = socket
        self._on_frames = on_frames
        self._loop = asyncio.get_running_loop()
        self._scheduled = False
        self._draining = False
        self._closed = False
        self._loop.add_reader(socket.fileno(), self._drain)
        self._loop.call_soon(self._drain)

    def send(self, frames: list[bytes]) -> bool:
        """False if the peer is not connected (ROUTER) or nothing can be queued."""
        try:
            for part in frames[:-1]:
                self._socket.send(part, SNDMORE | NOBLOCK)
            self._socket.send(frames[-1], NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                return False
            raise
        self._kick()
        return True

    def _drain(self) -> None:
        """Asks before receiving: an exception for an empty socket would cost more than the message."""
        self._scheduled = False
        self._draining = True
        try:
            for _ in range(FAIR_SHARE):
                if not self._has_message():
                    return
                self._take(self._socket.recv_multipart(NOBLOCK))
        finally:
            self._draining = False
        self._kick()

    def _has_message(self) -> bool:
        """Also arms the descriptor anew if there is none."""
        return not self._closed and bool(self._socket.get(EVENTS) & POLLIN)  # type: ignore[operator]

    def _take(self, frames: list[bytes]) -> None:
        try:
            self._on_frames(frames)
        except Exception:
            log.exception("dropped a message that could not be handled")

    def _kick(self) -> None:
        if not self._scheduled and not self._draining and self._has_message():
            self._scheduled = True
            self._loop.call_soon(self._drain)

    def close(self, linger: int = 0) -> None:
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close(linger)


class Keys:
    """The instance's key pair: whoever holds it is a broker of this instance."""

    def __init__(self, public: bytes, secret: bytes) -> None:
        self.public = public
        self._secret = secret

    def __repr__(self) -> str:
        return "<Keys>"  # never in a log

    def serve(self, socket: zmq.Socket[bytes]) -> None:
        socket.curve_server = True
        socket.curve_publickey = self.public
        socket.curve_secretkey = self._secret

    def join(self, socket: zmq.Socket[bytes]) -> None:
        socket.curve_serverkey = self.public
        socket.curve_publickey = self.public
        socket.curve_secretkey = self._secret


def gatekeeper(context: zmq.Context[zmq.Socket[bytes]], keys: Keys) -> Link:
    """Answers libzmq's question (ZAP, RFC 27 of ZeroMQ) whether a client key may connect: only our own."""
    socket = context.socket(zmq.ROUTER)
    socket.linger = 0
    socket.bind(ZAP_ENDPOINT)
    expected = zmq.utils.z85.decode(keys.public)

    def judge(frames: list[bytes]) -> None:
        split = frames.index(b"") + 1
        envelope, (version, request_id, *rest) = frames[:split], frames[split:]
        key = rest[4] if len(rest) > 4 and rest[3] == b"CURVE" else b""
        if key == expected:
            answer = [b"200", b"OK", b"broker", b""]
        else:
            log.warning("refused a peer with a wrong key from %s", rest[1].decode(errors="replace") if rest else "?")
            answer = [b"400", b"wrong key", b"", b""]
        link.send([*envelope, version, request_id, *answer])

    link = Link(socket, judge)
    return link


def router_socket(
    context: zmq.Context[zmq.Socket[bytes]], keys: Keys, endpoint: str, *, ipv6: bool
) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.ROUTER)
    socket.ipv6 = ipv6
    _tune(socket)
    socket.router_mandatory = True
    # A child that opens a new link may be here before the end of its old one is: the new one counts.
    socket.router_handover = True
    socket.zap_domain = b"fluxlike"
    keys.serve(socket)
    try:
        socket.bind(endpoint)
    except zmq.ZMQError as error:
        socket.close()
        raise ConfigError(f"cannot listen at {endpoint}: {error.strerror}") from error
    return socket


def dealer_socket(
    context: zmq.Context[zmq.Socket[bytes]], keys: Keys, identity: bytes, *, ipv6: bool
) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.DEALER)
    socket.ipv6 = ipv6
    _tune(socket)
    socket.routing_id = identity
    # The empty message a (re)connect sends makes a restarted parent ask who we are.
    socket.probe_router = 1
    socket.reconnect_ivl = 50
    socket.reconnect_ivl_max = 2000
    keys.join(socket)
    return socket


def _tune(socket: zmq.Socket[bytes]) -> None:
    socket.linger = 0
    socket.sndhwm = socket.rcvhwm = 0  # bounded by credit in the protocols above, not by dropping here
    socket.maxmsgsize = MAX_FRAME + 4096
    socket.handshake_ivl = 10_000
