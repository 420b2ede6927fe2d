"""Pipes between the executor and the tasks: output, captured or labelled, and standard input."""

from __future__ import annotations

import os
import sys
import termios
from collections import deque
from fcntl import ioctl
from typing import Any

from fluxlike_executor.job import Job
from fluxlike_executor.labels import Labeler
from fluxlike_executor.log import warn
from fluxlike_executor.loop import READ, WRITE, Loop

CHUNK = 64 << 10
"""What a pipe holds by default: one read empties it."""


class OutputPipe:
    """The reading end of a task's stdout or stderr. Subclasses say how much may be taken, and take it."""

    __slots__ = ("_loop", "_remaining", "_watched", "fd")

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._remaining = -1
        self._watched = False
        self.fd = fd

    def room(self) -> int:
        raise NotImplementedError

    def take(self, data: bytes) -> None:
        raise NotImplementedError

    def watch(self) -> None:
        """Begin to read, or go on after the window was full. Harmless when repeated."""
        if self.fd >= 0 and not self._watched:
            os.set_blocking(self.fd, False)
            self._loop.watch(self.fd, READ, self._ready)
            self._watched = True

    def _pause(self) -> None:
        """The pipe fills up, and the writer waits."""
        self._loop.forget(self.fd)
        self._watched = False

    def _ready(self, events: int) -> None:
        room = self.room()
        if room <= 0:
            self._pause()
            return
        try:
            data = os.read(self.fd, room if room < CHUNK else CHUNK)
        except BlockingIOError:
            return
        if data:
            self.take(data)
        else:
            self.close()

    def drain(self) -> bool:
        """After the last task: takes what is in the pipe now, then closes. False: the window is full, call again.

        A process that escaped may hold the writing end and go on writing; only what was there counts.
        """
        if self.fd < 0:
            return True
        if self._remaining < 0:
            self._remaining = _waiting(self.fd)
        if self._remaining and not self._take_remaining():
            return False
        self.close()
        return True

    def _take_remaining(self) -> bool:
        os.set_blocking(self.fd, False)
        while self._remaining > 0 and self.fd >= 0:  # taking may close the pipe
            room = min(self.room(), CHUNK, self._remaining)
            if room <= 0:
                self._pause()
                return False
            try:
                data = os.read(self.fd, room)
            except BlockingIOError:
                return True  # somebody else has read from it
            self._remaining -= len(data)
            self.take(data)
        return True

    def close(self) -> None:
        if self.fd >= 0:
            if self._watched:
                self._loop.forget(self.fd)
            os.close(self.fd)
            self.fd = -1


def _waiting(fd: int) -> int:
    return int.from_bytes(ioctl(fd, termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)


class Outbox:
    """Output rows that have not been handed to a connection."""

    __slots__ = ("fresh",)

    def __init__(self) -> None:
        self.fresh: list[list[Any]] = []

    def take_fresh(self) -> list[list[Any]]:
        fresh = self.fresh
        self.fresh = []
        return fresh


class CapturedPipe(OutputPipe):
    """Goes to the broker, through the job's window."""

    __slots__ = ("_job", "_outbox", "_stream", "_task")

    def __init__(self, loop: Loop, fd: int, job: Job, task: int, stream: str, outbox: Outbox) -> None:
        super().__init__(loop, fd)
        self._job = job
        self._task = task
        self._stream = stream
        self._outbox = outbox

    def room(self) -> int:
        return self._job.window.room

    def take(self, data: bytes) -> None:
        job = self._job
        chunk = job.window.put(self._task, self._stream, data)
        self._outbox.fresh.append([job.id, job.attempt, job.node, *chunk])


class LabelledPipe(OutputPipe):
    """Goes to a file, a label before each line. If the file cannot be written the stream ends, and the job says so."""

    __slots__ = ("_file", "_job", "_labeler", "_path")

    def __init__(self, loop: Loop, fd: int, job: Job, task: int, file: int, path: str) -> None:
        super().__init__(loop, fd)
        self._job = job
        self._file = file
        self._path = path
        self._labeler = Labeler(task)

    def room(self) -> int:
        return CHUNK

    def take(self, data: bytes) -> None:
        self._write(self._labeler.feed(data))

    def _write(self, text: bytes) -> None:
        try:
            while text:
                text = text[os.write(self._file, text) :]
        except OSError as error:
            self._job.error = self._job.error or f"{self._path}: {error.strerror}"
            warn(f"job {self._job.id}: {self._path}: {error.strerror}")
            super().close()

    def close(self) -> None:
        if self.fd >= 0:
            self._write(self._labeler.end())
        super().close()


class InputPipe:
    """The writing end of a task's stdin. What the pipe does not take now is queued; a task that is gone takes none."""

    __slots__ = ("_ended", "_fd", "_loop", "_queue")

    def __init__(self, loop: Loop, fd: int) -> None:
        os.set_blocking(fd, False)
        self._loop = loop
        self._fd = fd
        self._queue: deque[bytes] = deque()
        self._ended = False

    def write(self, data: bytes, eof: bool) -> None:
        if self._ended:
            return
        if data:
            self._queue.append(data)
        self._ended = eof
        self._push(0)

    def _push(self, events: int) -> None:
        queue = self._queue
        try:
            while queue and self._fd >= 0:
                data = queue.popleft()
                sent = os.write(self._fd, data)
                if sent < len(data):
                    queue.appendleft(data[sent:])
        except BlockingIOError:
            queue.appendleft(data)
            self._loop.watch(self._fd, WRITE, self._push)
            return
        except OSError:  # EPIPE: the task does not read, which is its right
            self.close()
            return
        self._idle()

    def _idle(self) -> None:
        if self._ended:
            self.close()
        elif self._fd >= 0:
            self._loop.forget(self._fd)

    def close(self) -> None:
        self._ended = True
        self._queue.clear()
        if self._fd >= 0:
            self._loop.forget(self._fd)
            os.close(self._fd)
            self._fd = -1
