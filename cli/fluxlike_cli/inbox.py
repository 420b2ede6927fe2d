"""Signals as something to wait for, next to sockets and standard input."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self


class SignalInbox:
    """Catches signals while entered; `fileno` is readable when some have come. Earlier handlers are put back.

    A signal that was ignored (nohup, a shell's background job) stays ignored."""

    def __init__(self, signums: Iterable[int]) -> None:
        self._wanted = tuple(signums)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for signum in self._wanted:
            self.watch(signum)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum in list(self._before):
            self.unwatch(signum)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._reader)
        os.close(self._writer)

    def fileno(self) -> int:
        return self._reader

    def watch(self, signum: int) -> None:
        if signum not in self._before and signal.getsignal(signum) is not signal.SIG_IGN:
            # The wakeup descriptor carries the number; the handler only keeps the default from happening.
            self._before[signum] = signal.signal(signum, _nothing)

    def unwatch(self, signum: int) -> None:
        if signum in self._before:
            signal.signal(signum, self._before.pop(signum))

    def take(self) -> list[int]:
        """What has come since the last call, oldest first."""
        try:
            return [signum for signum in os.read(self._reader, 4096) if signum in self._before]
        except BlockingIOError:
            return []


def _nothing(signum: int, frame: object) -> None:
    pass
