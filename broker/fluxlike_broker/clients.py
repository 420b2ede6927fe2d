"""The door for local clients: a unix socket, the peer's uid checked by the kernel, frames in, messages out."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from contextlib import suppress

from fluxlike.errors import FluxlikeError, PermissionDenied, ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.instance import ExecRun, ExecTaken
from fluxlike.protocol.message import ROLE_OWNER, Flag, Kind, Message, decode, encode
from fluxlike_broker.router import Router

log = logging.getLogger("fluxlike.clients")

STUCK_CLIENT = 256 * 1024 * 1024
"""Bytes waiting for a client that does not read. Beyond it the client is cut off rather than the broker swollen."""


class ClientDoor:
    """All connections of one broker. Each has a sender id that no later connection gets again."""

    def __init__(self, router: Router, path: str) -> None:
        self._router = router
        self._path = path
        self._connections: dict[int, Connection] = {}
        self._last_sender = router.sender
        self._server: asyncio.Server | None = None
        self.refused = 0

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        _unlink(self._path)
        self._server = await loop.create_unix_server(lambda: Connection(self, self._router), self._path)
        os.chmod(self._path, 0o700)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections.values()):
            connection.close()
        _unlink(self._path)

    def add(self, connection: Connection) -> int:
        self._last_sender += 1
        self._connections[self._last_sender] = connection
        return self._last_sender

    def remove(self, sender: int) -> None:
        self._connections.pop(sender, None)

    def deliver(self, message: Message) -> bool:
        connection = self._connections.get(message.sender)
        if connection is None:
            return False
        connection.answer(message)
        return True

    def fail_requests(self, ranks: set[int], error: FluxlikeError) -> None:
        """What clients asked of these ranks will not be answered."""
        for connection in list(self._connections.values()):
            connection.fail_requests(ranks, error)


class Connection(asyncio.Protocol):
    def __init__(self, door: ClientDoor, router: Router) -> None:
        self._door = door
        self._router = router
        self._reader = FrameReader()
        self._out: list[bytes] = []
        self._asked: dict[int, Message] = {}
        self._transport: asyncio.Transport | None = None
        self._sender = 0
        self._userid = 0
        self._flush_due = False
        self._in_feed = False
        self._full = False
        """The client reads more slowly than we write."""
        self._untold: dict[int, int] = {}
        """Answers of remote commands, by tag, whose rank has not been told that they are out."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._userid = peer_uid(transport.get_extra_info("socket"))
        self._sender = self._door.add(self)
        if self._userid != os.geteuid():
            self._door.refused += 1
            log.warning("refused a client of uid %d", self._userid)
            self._complain(PermissionDenied(f"uid {self._userid} does not own this instance"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._door.remove(self._sender)
        for message in list(self._asked.values()):
            self._router.handle(_cancellation(message))
        self._asked.clear()

    def data_received(self, data: bytes) -> None:
        self._in_feed = True
        try:
            for raw in self._reader.feed(data):
                self._take(decode(raw))
        except ProtocolError as error:
            self._door.refused += 1
            log.warning("closing a client connection: %s", error)
            self._complain(error)
        finally:
            self._in_feed = False
            self._flush()

    def _take(self, message: Message) -> None:
        if message.kind != Kind.REQUEST:
            raise ProtocolError("clients send requests only")
        message.sender = self._sender
        message.userid = self._userid
        message.roles = ROLE_OWNER
        message.route = [self._router.rank]
        if message.flags & Flag.CANCEL:
            original = self._asked.pop(message.matchtag, None)
            if original is not None:
                self._router.handle(_cancellation(original))
            return
        if not message.flags & Flag.NO_RESPONSE:
            if message.matchtag in self._asked:
                raise ProtocolError(
                    f"match tag {message.matchtag} is in use: the request before it is not answered yet"
                )
            # The router may add to the route it passes on; the door keeps its own copy to cancel by.
            self._asked[message.matchtag] = message
        self._router.handle(message)

    def answer(self, message: Message) -> None:
        if not message.flags & Flag.STREAM:
            self._asked.pop(message.matchtag, None)
            self._untold.pop(message.matchtag, None)
        elif message.topic == ExecRun.topic:
            self._untold[message.matchtag] = self._untold.get(message.matchtag, 0) + 1
        self._out.append(frame(encode(message)))
        if not self._in_feed and not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def fail_requests(self, ranks: set[int], error: FluxlikeError) -> None:
        for message in [m for m in self._asked.values() if m.nodeid in ranks]:
            # If the rank is only somewhere else in the tree, it need not go on with what nobody waits for.
            self._router.handle(_cancellation(message))
            self.answer(message.response(error=error))

    def _flush(self) -> None:
        self._flush_due = False
        if self._transport is None or not self._out:
            self._out.clear()
            return
        self._transport.write(b"".join(self._out))
        self._out.clear()
        if self._transport.get_write_buffer_size() > STUCK_CLIENT:
            log.warning("cut off a client that does not read its answers")
            self._transport.abort()
        elif self._untold and not self._full:
            self._tell_taken()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._tell_taken()

    def _tell_taken(self) -> None:
        """Remote commands write as fast as their client reads: each may go on for as much as has gone out to it."""
        untold, self._untold = self._untold, {}
        for tag, count in untold.items():
            asked = self._asked.get(tag)
            if asked is not None:
                self._router.handle(_about(asked, ExecTaken.topic, Flag.NO_RESPONSE, ExecTaken(count=count)))

    def _complain(self, error: FluxlikeError) -> None:
        """Tell the peer if it can be told, then hang up: the stream is out of step or not welcome."""
        if self._transport is not None:
            note = Message(Kind.RESPONSE, "", error=(error.code, str(error)))
            self._transport.write(frame(encode(note)))
            self._transport.close()

    def close(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.close()


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _cancellation(message: Message) -> Message:
    return _about(message, message.topic, Flag.CANCEL)


def _about(message: Message, topic: str, flags: int, body: object = None) -> Message:
    """What goes the way of a client's request, and is known there by its tag."""
    return Message(
        Kind.REQUEST,
        topic,
        body,
        nodeid=message.nodeid,
        matchtag=message.matchtag,
        sender=message.sender,
        userid=message.userid,
        roles=message.roles,
        flags=flags | (message.flags & Flag.UPSTREAM),
        route=message.route[:1],
    )


def peer_uid(sock: socket.socket) -> int:
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", credentials)[1]
    return uid
