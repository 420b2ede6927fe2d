"""The broker's log: a ring that `dmesg` reads, a file, and what must be seen on standard error."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from fluxlike.config.settings import LogSettings
from fluxlike.protocol.instance import Dmesg, LogEntries
from fluxlike_broker.call import Call
from fluxlike_broker.service import request

Entry = tuple[float, int, str, str, str]
"""(wall time, rank, level name, logger, text)"""


class Ring(logging.Handler):
    """The last entries, for whoever asks and whoever follows."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__()
        self._rank = rank
        self._entries: deque[Entry] = deque(maxlen=size)
        self._followers: list[Callable[[Entry], None]] = []
        self._thread = threading.get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        entry = (record.created, self._rank, record.levelname.lower(), record.name, text)
        self._entries.append(entry)
        if threading.get_ident() == self._thread:
            self._tell(entry)
        elif self._loop is not None:  # the store's thread has things to say too
            with suppress(RuntimeError):  # closed: nobody follows any more
                self._loop.call_soon_threadsafe(self._tell, entry)

    def _tell(self, entry: Entry) -> None:
        for follower in list(self._followers):
            follower(entry)

    @request(Dmesg)
    def dmesg(self, body: Dmesg, call: Call) -> None:
        call.send(LogEntries(entries=list(self._entries)))
        if not body.follow:
            call.end()
            return

        def follower(entry: Entry) -> None:
            call.send(LogEntries(entries=[entry]))

        self._loop = asyncio.get_running_loop()
        self._followers.append(follower)
        call.on_cancel(lambda: self._followers.remove(follower))


def open_log(rank: int, settings: LogSettings) -> Ring:
    """Called once per broker process, after the fork."""
    root = logging.getLogger("fluxlike")
    root.handlers.clear()
    root.propagate = False
    root.setLevel(settings.level.upper())
    ring = Ring(rank, settings.ring)
    root.addHandler(ring)
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setLevel(settings.stderr_level.upper())
    stderr.setFormatter(logging.Formatter(f"fluxlike-broker[{rank}]: %(levelname)s %(message)s"))
    root.addHandler(stderr)
    return ring
