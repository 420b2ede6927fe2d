"""One connection of the asyncio face: answers are put where they are waited for as soon as they arrive."""

from __future__ import annotations

import asyncio
import socket

from fluxlike.client.core import ClientCore
from fluxlike.client.unix import connect
from fluxlike.errors import Disconnected, FluxlikeError
from fluxlike.protocol.message import ANY, Message
from fluxlike.protocol.payload import Payload

Box = asyncio.Queue[Message | None]
"""Answers in order of arrival; None after the last that will ever come."""


class Connection(asyncio.Protocol):
    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._core = ClientCore()
        self._boxes: dict[int, Box] = {}
        self._inbox: Box = asyncio.Queue()
        self._transport: asyncio.Transport | None = None
        self._lost: FluxlikeError | None = None
        self._closed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    @classmethod
    async def open(cls, uri: str) -> Connection:
        """Raises what the blocking face raises: the socket is opened by the same function, in a thread."""
        loop = asyncio.get_running_loop()
        opening = loop.run_in_executor(None, lambda: socket.socket(fileno=connect(uri).detach()))
        try:
            sock = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_discard)
            raise
        _, connection = await loop.create_unix_connection(lambda: cls(uri), sock=sock)
        return connection

    # -- called by the loop ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Writing is paused while any byte waits: who has drained knows that the kernel has all of it.
        transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        try:
            answers = self._core.feed(data)
        except FluxlikeError as error:
            self._end(error)
            return
        for message in answers:
            self._boxes.get(message.matchtag, self._inbox).put_nowait(message)

    def connection_lost(self, exc: Exception | None) -> None:
        reason = "closed by the broker" if exc is None else str(exc)
        self._end(Disconnected(f"the connection to {self._uri} is lost: {reason}"))
        self._closed.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _end(self, reason: FluxlikeError) -> None:
        """The first reason stays. Answers that are here already can still be taken."""
        if self._lost is None:
            self._lost = reason
            for box in (self._inbox, *self._boxes.values()):
                box.put_nowait(None)
        self._writable.set()
        if self._transport is not None:
            # Not close, which would wait for a stopped broker to take what was not drained.
            self._transport.abort()

    # -- called by the client -------------------------------------------------------------------------------

    def fileno(self) -> int:
        assert self._transport is not None
        sock = self._transport.get_extra_info("socket")
        return -1 if sock is None else int(sock.fileno())

    def send(
        self,
        payload: Payload | str,
        body: object = None,
        *,
        rank: int = ANY,
        stream: bool = False,
        posted: bool = False,
    ) -> int:
        """Answers to what was `posted` come by `receive`, others by `next`, until `drop`."""
        if self._lost is not None:
            raise self._failure()
        tag, data = self._core.request(payload, body, rank=rank, stream=stream)
        if not posted:
            self._boxes[tag] = asyncio.Queue()
        assert self._transport is not None
        self._transport.write(data)
        return tag

    async def drain(self) -> None:
        """Wait until all that was sent is on its way."""
        await self._writable.wait()

    async def next(self, tag: int) -> Message:
        return await self._take(self._boxes[tag])

    async def receive(self) -> Message:
        return await self._take(self._inbox)

    async def _take(self, box: Box) -> Message:
        message = await box.get()
        if message is None:
            box.put_nowait(None)
            raise self._failure()
        return message

    def expects(self, tag: int) -> bool:
        """Whether there is, or may still come, an answer that was not taken."""
        return self._core.is_open(tag) or not self._boxes[tag].empty()

    def drop(self, tag: int) -> None:
        """Nobody waits for this tag any more; the broker is told if it is still at it."""
        self._boxes.pop(tag, None)
        cancellation = self._core.forget(tag)
        if cancellation and self._lost is None and self._transport is not None:
            self._transport.write(cancellation)

    async def close(self) -> None:
        self._end(Disconnected(f"no connection to {self._uri}: this client was closed"))
        await self._closed.wait()

    def _failure(self) -> FluxlikeError:
        """A new one each time: an exception that is raised twice gathers the tracebacks of both."""
        assert self._lost is not None
        return type(self._lost)(str(self._lost))


def _discard(opening: asyncio.Future[socket.socket]) -> None:
    """Whoever asked for the connection has been cancelled meanwhile."""
    if opening.exception() is None:
        opening.result().close()
