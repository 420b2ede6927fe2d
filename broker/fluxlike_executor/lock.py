"""One executor per socket: an exclusive lock that lasts as long as the process."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress


def acquire(path: str) -> int | None:
    """The descriptor that holds the lock, this process's id in the file; None when another has it."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        if _same_file(fd, path):
            os.ftruncate(fd, 0)
            os.write(fd, b"%d\n" % os.getpid())
            return fd
        os.close(fd)  # its holder was just leaving and took the name with it; lock the new file


def _same_file(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def release(fd: int, path: str) -> None:
    """The name first: whoever opens it afterwards makes a new file."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.close(fd)


def holder(path: str) -> str:
    """The process id in the lock file, as text; for messages."""
    try:
        with open(path) as file:
            return file.read().strip() or "?"
    except OSError:
        return "?"
