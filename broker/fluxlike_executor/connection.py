"""One accepted stream: whole messages in, queued frames out."""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import Any

from fluxlike_executor.loop import READ, WRITE, Handler, Loop
from fluxlike_executor.wire import FrameReader

RECEIVE = 256 << 10
"""Bytes taken at a time, into one buffer for all: a new one each time would be mapped and unmapped by the system."""

BUFFERS = 256
"""Frames handed to the system at a time; it takes at most 1024."""


_buffer = memoryview(bytearray(RECEIVE))


class Connection:
    """Frames are queued and go out together, once per pass; a slow reader delays itself only."""

    __slots__ = ("_blocked", "_handler", "_loop", "_queue", "_reader", "_socket")

    def __init__(self, loop: Loop, stream: socket.socket) -> None:
        stream.setblocking(False)
        self._loop = loop
        self._socket = stream
        self._reader = FrameReader()
        self._queue: deque[bytes | memoryview] = deque()
        self._blocked = False
        self._handler: Handler | None = None

    def listen(self, handler: Handler) -> None:
        self._handler = handler
        self._loop.watch(self._socket.fileno(), READ, handler)

    def receive(self) -> list[list[Any]] | None:
        """Messages that are complete; None when the peer is gone. Raises ProtocolError."""
        try:
            size = self._socket.recv_into(_buffer)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self._reader.feed(_buffer[:size]) if size else None

    def send(self, frame: bytes) -> None:
        self._queue.append(frame)

    def flush(self) -> None:
        """Sends what the peer takes now. That it is gone is learned by reading, not here."""
        if not self._queue:
            return
        try:
            sent = self._socket.sendmsg(list(islice(self._queue, BUFFERS)))
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        self._drop(sent)
        self._wait_for_room(bool(self._queue))

    def _drop(self, sent: int) -> None:
        queue = self._queue
        while sent and sent >= len(queue[0]):
            sent -= len(queue.popleft())
        if sent:
            queue[0] = memoryview(queue[0])[sent:]

    def _wait_for_room(self, blocked: bool) -> None:
        if blocked != self._blocked and self._handler is not None:
            self._blocked = blocked
            self._loop.watch(self._socket.fileno(), READ | WRITE if blocked else READ, self._handler)

    def peer_is_own_user(self) -> bool:
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", credentials)
        return bool(uid == os.getuid())

    def close(self, patience: float = 0.0) -> None:
        """With patience, tries for that many seconds to get rid of what is queued."""
        self._loop.forget(self._socket.fileno())
        if patience and self._queue:
            self._socket.settimeout(patience)
            with suppress(OSError):
                self._socket.sendall(b"".join(self._queue))
        self._queue.clear()
        self._socket.close()
