"""What the executor makes of its own process before it begins, whoever started it and however."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from fluxlike_executor.log import warn
from fluxlike_executor.loop import READ, Loop

PR_SET_CHILD_SUBREAPER = 36


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
    """Descriptors 0 to 2 exist, so that no pipe is ever one of them; none above is inherited by a task."""
    while True:
        fd = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        if fd > 2:
            os.close(fd)
            break
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own descriptor is gone by now
            if int(name) > 2:
                os.set_inheritable(int(name), False)


def become_subreaper() -> None:
    """From now on descendants that lose their parent become children of this process instead of init's."""
    import ctypes  # for this one call

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        warn(f"not a sub-reaper, so strays will not be found: {os.strerror(ctypes.get_errno())}")


def _noop(signum: int, frame: object) -> None:
    """Python needs a handler, or the wake-up byte is not written."""


def on_signals(loop: Loop, child: Callable[[], object], end: Callable[[], None]) -> Callable[[], None]:
    """SIGCHLD and the requests to end arrive as events of the loop. Answers the function that undoes it."""
    read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    endings = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}

    def wake(events: int) -> None:
        try:
            signums = os.read(read, 4096)
        except BlockingIOError:
            return
        if not endings.isdisjoint(signums):
            end()
        child()

    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for signum in (signal.SIGCHLD, *endings):
        signal.signal(signum, _noop)
    loop.watch(read, READ, wake)

    def undo() -> None:
        signal.set_wakeup_fd(-1)
        loop.forget(read)
        os.close(read)
        os.close(write)

    return undo
