"""Rank 0's line to the launcher, which alone has the terminal: JSON lines over a socket pair."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any


class ControlLine(asyncio.Protocol):
    """Says `{"state": ..}` and hears `{"program": exit status}` or `{"stop": true}`."""

    def __init__(self, on_message: Callable[[dict[str, Any]], None], on_closed: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_closed = on_closed
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    async def open(self, fd: int) -> None:
        await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=socket.socket(fileno=fd))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._on_message(json.loads(line))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._on_closed()

    def say(self, **words: Any) -> None:
        if self._transport is not None:
            self._transport.write(json.dumps(words).encode() + b"\n")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
