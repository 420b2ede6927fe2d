"""What the executor makes of its own process before it begins, whoever started it and however."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from fluxlike_executor.log import warn
from fluxlike_executor.loop import READ, Loop

PR_SET_CHILD_SUBREAPER = 36

_SIGSET = 128
"""Bytes of a sigset_t, in every C library for Linux."""
_RECORD = 128
"""Bytes of a signalfd_siginfo; the number of the signal comes first, in four."""


def detach() -> None:
    """Out of the starter's session, so that Ctrl-C at its terminal does not reach the executor."""
    with suppress(PermissionError):  # already leads a group: started by hand, and then Ctrl-C is meant for it
        os.setsid()


def reset_signals() -> None:
    """Forgets handlers, wake-up descriptor and mask of the process this one was forked from."""
    signal.set_wakeup_fd(-1)
    for signum in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(signum)):
            signal.signal(signum, signal.SIG_DFL)
    for signum in (signal.SIGPIPE, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def own_descriptors() -> None:
    """Descriptors 0 to 2 exist, so that no pipe is ever one of them; none above is inherited by a task. Nothing can be
    read from 0: a task without input gets it as it is."""
    while True:
        fd = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        if fd > 2:
            os.dup2(fd, 0)
            os.close(fd)
            break
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own descriptor is gone by now
            if int(name) > 2:
                os.set_inheritable(int(name), False)


def become_subreaper() -> None:
    """From now on descendants that lose their parent become children of this process instead of init's."""
    libc = _c_library()
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        warn(f"not a sub-reaper, so strays will not be found: {_last_error().strerror}")


def _c_library() -> Any:
    import ctypes  # not where this is imported to be forked later

    return ctypes.CDLL(None, use_errno=True)


def _last_error() -> OSError:
    import ctypes

    return OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _signal_descriptor(signums: Iterable[int]) -> int:
    """Blocks the signals and answers a descriptor to read them from: a hundred children that end together cost one
    read, where handlers would interrupt a hundred times."""
    import ctypes

    libc = _c_library()
    mask = ctypes.create_string_buffer(_SIGSET)
    libc.sigemptyset(mask)
    for signum in signums:
        libc.sigaddset(mask, signum)
    signal.pthread_sigmask(signal.SIG_BLOCK, signums)
    fd: int = libc.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        raise _last_error()
    return fd


def _signums(records: bytes) -> Iterator[int]:
    for at in range(0, len(records), _RECORD):
        yield int.from_bytes(records[at : at + 4], sys.byteorder)


def on_signals(loop: Loop, child: Callable[[], object], end: Callable[[], None]) -> Callable[[], None]:
    """SIGCHLD and the requests to end arrive as events of the loop. Answers the function that ends that; the signals
    stay blocked, so that a second request does not interrupt the end that the first one brought about."""
    endings = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}
    fd = _signal_descriptor({signal.SIGCHLD, *endings})

    def wake(events: int) -> None:
        try:
            records = os.read(fd, 16 * _RECORD)
        except BlockingIOError:
            return
        if not endings.isdisjoint(_signums(records)):
            end()
        child()

    loop.watch(fd, READ, wake)

    def undo() -> None:
        loop.forget(fd)
        os.close(fd)

    return undo
