"""The unix socket to this rank's executor: connect, reconnect, and bring up a new executor if the old one died."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import msgpack

from fluxlike.config import environment
from fluxlike.errors import ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike_broker.directories import is_held

log = logging.getLogger("fluxlike.exec")

_pack = msgpack.Packer().pack

FIRST_RETRY, LAST_RETRY = 0.005, 2.0
"""Seconds between two attempts to connect; doubled each time until the executor has said something."""

LEASH = 3
"""The descriptor of the leash in an executor that we start."""

GONE_FOR_GOOD = 0.2
"""Seconds of waiting after which an executor that holds no lock is not one that is just starting."""


class ExecutorLink(asyncio.Protocol):
    """Messages out are joined per loop pass; messages in go to `on_message(type, *fields)`."""

    def __init__(
        self,
        path: str,
        on_open: Callable[[], None],
        on_message: Callable[[list[Any]], None],
        on_lost: Callable[[], None],
        mode: str,
    ) -> None:
        """`mode`: of an executor that has to be started here (docs/rfc/003)."""
        self._path = path
        self._mode = mode
        self._on_open = on_open
        self._on_message = on_message
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader()
        self._out: list[bytes] = []
        self._lost = asyncio.Event()
        self._stopping = False
        self._heard = False
        """Whether the executor has said anything on this connection."""
        self._leash = -1
        """While it is open, an executor that we started and have not greeted waits for us; no longer."""

    async def run(self) -> None:
        """Stay connected until stopped."""
        loop = asyncio.get_running_loop()
        delay = FIRST_RETRY
        while not self._stopping:
            try:
                await loop.create_unix_connection(lambda: self, self._path)
            except OSError:
                await asyncio.sleep(delay)
                if delay > GONE_FOR_GOOD and not is_held(self._path + ".lock"):
                    self._spawn()
            else:
                await self._lost.wait()
                self._lost.clear()
                if not self._stopping:
                    log.warning("connection to the executor is lost")
                if self._heard:
                    delay = FIRST_RETRY
                    continue
                # It takes connections and closes them: that may go on for a while.
                await asyncio.sleep(delay)
            delay = min(delay * 2, LAST_RETRY)

    def _spawn(self) -> None:
        log.error("the executor is gone; starting a new one")
        argv = [sys.executable, "-m", "fluxlike_executor.main", "--socket", self._path, "--mode", self._mode]
        null = os.open(os.devnull, os.O_RDWR)
        self._let_go()
        theirs, self._leash = os.pipe()
        try:
            os.posix_spawn(
                sys.executable,
                [*argv, "--parent-fd", str(LEASH)],
                environment.snapshot(),
                setsid=True,
                setsigdef=[signal.SIGCHLD],
                file_actions=[(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, theirs, LEASH)],
            )
        finally:
            os.close(null)
            os.close(theirs)

    def _let_go(self) -> None:
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1

    def stop(self) -> None:
        self._stopping = True
        self._let_go()
        if self._transport is not None:
            self._flush()
            self._transport.close()

    @property
    def connected(self) -> bool:
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._reader = FrameReader()
        self._heard = False
        self._out.clear()
        self._on_open()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost.set()
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        try:
            for raw in self._reader.feed(data):
                if not self._heard:
                    self._heard = True
                    self._let_go()
                self._on_message(msgpack.unpackb(raw))
        except (ProtocolError, ValueError, msgpack.UnpackException) as error:
            log.error("the executor sent garbage: %s", error)
            if self._transport is not None:
                self._transport.abort()

    def send(self, *fields: Any) -> None:
        self.send_packed(_pack(fields))

    def send_packed(self, data: bytes) -> None:
        """Lost if the executor is away: everything sent here is asked again after the next welcome."""
        if self._transport is None:
            return
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        self._out.append(frame(data))

    def _flush(self) -> None:
        if self._transport is not None and self._out:
            self._transport.write(b"".join(self._out))
        self._out.clear()
