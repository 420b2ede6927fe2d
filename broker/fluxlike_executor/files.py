"""Files that tasks write to and read from, opened on their behalf."""

from __future__ import annotations

import os

from fluxlike_executor.spec import encoded

# Without O_NONBLOCK the opening of a named pipe would wait for its other end, and every job here with it.
_COMMON = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


def _open(path: str, flags: int) -> int:
    fd = os.open(encoded(path), flags | _COMMON, 0o666)
    os.set_blocking(fd, True)
    return fd


def open_input(path: str) -> int:
    return _open(path, os.O_RDONLY)


class OutputFiles:
    """Each path is opened, and truncated, at most once per job; tasks that render to the same path share it."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def open(self, path: str, append: bool) -> int:
        fd = self._open.get(path)
        if fd is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            fd = self._open[path] = _open(path, flags if append else flags | os.O_TRUNC)
        return fd

    def release(self) -> list[int]:
        """The descriptors, now the caller's to close."""
        fds = list(self._open.values())
        self._open.clear()
        return fds
