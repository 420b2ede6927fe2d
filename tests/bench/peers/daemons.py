"""Daemons of a peer: started in the foreground as children of ours, ended by their ids, the last one first."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from peers.packages import last_line
from peers.peer import Unavailable

PATIENCE = 30.0
"""Seconds in which a daemon must come up, and in which it must go."""


@contextmanager
def daemon(
    command: Sequence[str],
    log: str,
    env: dict[str, str],
    stop: signal.Signals = signal.SIGTERM,
    identity: Mapping[str, Any] = {},
) -> Iterator[subprocess.Popen[bytes]]:
    """`identity` has the arguments of Popen that say as whom it runs."""
    with open(log, "wb") as file:
        # A session of its own: Ctrl-C is for us, and we stop it in good order.
        running = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True, **identity
        )
    try:
        yield running
    finally:
        running.send_signal(stop)
        try:
            running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def wait_until(ready: Callable[[], bool], what: str, *daemons: tuple[subprocess.Popen[bytes], str]) -> None:
    """Raises Unavailable with the last words of the first daemon that ended, or of the last one when time is up."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        ended = [log for process, log in daemons if process.poll() is not None]
        if ended:
            raise Unavailable(f"{what}: {_last_words(ended[0])}")
        if time.monotonic() > deadline:
            raise Unavailable(f"{what} within {PATIENCE:.0f} s: {_last_words(daemons[-1][1])}")
        time.sleep(0.05)


def _last_words(log: str) -> str:
    if not os.path.exists(log):
        return "it said nothing"
    with open(log, encoding="utf-8", errors="replace") as file:
        return last_line(file.read())


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
