"""The executor's socket: who may connect, which connection is the broker's, and what goes where."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fluxlike_executor import messages
from fluxlike_executor.connection import Connection
from fluxlike_executor.ending import Ending
from fluxlike_executor.instance import PROTOCOL, Instance
from fluxlike_executor.log import warn
from fluxlike_executor.loop import READ, WRITE, Loop
from fluxlike_executor.runner import Runner
from fluxlike_executor.timers import Timer
from fluxlike_executor.wire import ProtocolError, frame

OUTPUT_FRAME = 1 << 20
"""Bytes of output in one frame, about: far below the limit, and large enough for its cost not to count."""

RESULT_ROWS = 4096

ACCEPT_PAUSE = 0.1
"""Seconds until accepting is tried again after it failed."""

Rows = Iterable[list[Any]]


class Server:
    def __init__(self, loop: Loop, listener: socket.socket, executor: Runner, ending: Ending) -> None:
        self._loop = loop
        self._listener = listener
        self._executor = executor
        self._ending = ending
        self._epoch = os.urandom(8).hex()
        self._waiting: set[Connection] = set()
        """Accepted, not yet introduced."""
        self._current: Connection | None = None
        self._orphaned: Timer | None = None
        self._parent: int | None = None
        self._actions: dict[str, Callable[[list[Any]], None]] = {
            "start": self._start,
            "signal": lambda message: executor.signal(messages.signals(message)),
            "kill": lambda message: executor.kill(messages.signals(message)),
            "stdin": lambda message: executor.stdin(*messages.stdin(message)),
            "output-ack": lambda message: executor.output_ack(messages.triples(message)),
            "ack": lambda message: executor.ack(messages.number(message)),
            "exit": lambda message: ending.begin(),
        }
        listener.setblocking(False)
        self._listen()
        self._without_broker()

    def watch_parent(self, fd: int) -> None:
        """The starter holds the other end. If that closes before any broker came, none will."""
        self._parent = fd
        self._loop.watch(fd, READ, self._parent_gone)

    def each_pass(self) -> bool:
        busy = self._executor.each_pass()
        self._ending.check(listener=self._current is not None)
        if self._current is not None:
            self._send_fresh(self._current)
            self._current.flush()
        else:
            self._discard_fresh()
        return busy

    def close(self) -> None:
        for connection in self._waiting:
            connection.close()
        if self._current is not None:
            self._current.close(patience=1.0)
        self._loop.forget(self._listener.fileno())
        self._listener.close()

    # Connections

    def _listen(self) -> None:
        self._loop.watch(self._listener.fileno(), READ, self._accept)

    def _accept(self, events: int) -> None:
        try:
            stream, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:  # out of descriptors, mostly; asking again at once would only spin
            warn(f"accept: {error.strerror}")
            self._loop.forget(self._listener.fileno())
            self._loop.after(ACCEPT_PAUSE, self._listen)
            return
        connection = Connection(self._loop, stream)
        if not connection.peer_is_own_user():
            warn("a connection of another user was refused")
            connection.close()
            return
        self._waiting.add(connection)
        connection.listen(partial(self._on_event, connection))

    def _on_event(self, connection: Connection, events: int) -> None:
        if events & WRITE:
            connection.flush()
        if not events & ~WRITE:
            return
        try:
            received = connection.receive()
            if received is None:
                self._drop(connection)
                return
            for message in received:
                self._dispatch(connection, message)
        except ProtocolError as error:
            warn(f"connection closed: {error}")
            self._drop(connection)

    def _dispatch(self, connection: Connection, message: list[Any]) -> None:
        if message[0] == "hello":
            self._hello(connection, message)
            return
        if connection is not self._current:
            raise ProtocolError(f"{message[0]}: hello comes first")
        action = self._actions.get(message[0])
        if action is None:
            raise ProtocolError(f"there is no message {message[0]!r}")
        action(message)

    def _drop(self, connection: Connection) -> None:
        connection.close()
        self._waiting.discard(connection)
        if connection is self._current:
            self._current = None
            self._executor.drop_transients()
            self._without_broker()

    def _without_broker(self) -> None:
        patience = self._executor.instance.orphan_timeout
        if not math.isinf(patience):
            self._orphaned = self._loop.after(patience, self._orphan)

    def _orphan(self) -> None:
        warn("no broker has come; ending")
        self._ending.begin()

    def _parent_gone(self, events: int) -> None:
        self._forget_parent()
        self._orphan()

    def _forget_parent(self) -> None:
        if self._parent is not None:
            self._loop.forget(self._parent)
            os.close(self._parent)
            self._parent = None

    # Messages

    def _hello(self, connection: Connection, message: list[Any]) -> None:
        instance = Instance(message[1] if len(message) == 2 else None)
        if connection is self._current:
            self._send_fresh(connection)
        else:
            self._replace_current(connection)
        self._executor.introduce(instance)
        self._welcome(connection)

    def _replace_current(self, connection: Connection) -> None:
        if self._current is not None:
            self._drop(self._current)
        if self._orphaned is not None:
            self._orphaned.cancel()
        self._forget_parent()
        self._waiting.discard(connection)
        self._current = connection
        self._discard_fresh()

    def _welcome(self, connection: Connection) -> None:
        about = {"epoch": self._epoch, "pid": os.getpid(), "protocol": PROTOCOL, "jobs": self._executor.held()}
        connection.send(frame(["welcome", about]))
        _send_output(connection, self._executor.kept_output())
        _send_results(connection, list(self._executor.results.unacked()))

    def _start(self, message: list[Any]) -> None:
        specs, rows = messages.start(message)
        if not self._ending.begun:
            self._executor.start(specs, rows)

    def _discard_fresh(self) -> None:
        """It is kept until acknowledged, and so among what the next connection is sent first."""
        self._executor.outbox.take_fresh()
        self._executor.results.take_fresh()

    def _send_fresh(self, connection: Connection) -> None:
        """Output before results: a finish is never seen before the last byte."""
        if self._executor.outbox.fresh:
            _send_output(connection, self._executor.outbox.take_fresh())
        if self._executor.results.fresh:
            _send_results(connection, self._executor.results.take_fresh())


def _send_output(connection: Connection, rows: Rows) -> None:
    batch: list[list[Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row[6])
        if size >= OUTPUT_FRAME:
            connection.send(frame(["output", batch]))
            batch, size = [], 0
    if batch:
        connection.send(frame(["output", batch]))


def _send_results(connection: Connection, rows: list[list[Any]]) -> None:
    for at in range(0, len(rows), RESULT_ROWS):
        connection.send(frame(["results", rows[at : at + RESULT_ROWS]]))
