"""Trees of files that are on their way out, a few entries at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from fluxlike_executor.log import warn

STEP = 256
"""Entries removed at a stretch. A tree of a million files must not keep the other jobs waiting."""


def remove(path: str) -> Iterator[None] | None:
    """Removes the directory at once if it is empty; else answers the rest of the work, in steps."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        _unlink(path)  # a job put a file there, or a link to what is not ours to remove
        return None
    except OSError:
        return _remove_tree(path)
    return None


class Removals:
    """Trees that are being removed, a step of each in turn."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Iterator[None]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, path: str) -> None:
        """An empty directory and a small tree are gone when this returns."""
        removal = remove(path)
        if removal is not None:
            self._waiting.appendleft(removal)
            self.step()

    def step(self) -> None:
        removal = self._waiting.popleft()
        for _ in removal:
            self._waiting.append(removal)
            return

    def complete(self) -> None:
        while self._waiting:
            self.step()


def _remove_tree(path: str) -> Iterator[None]:
    """A step removes about STEP entries. Never follows a link out of the tree, never raises."""
    stuck: set[str] = set()
    stack = [path]
    while stack:
        below: list[str] = []
        yield from _clear(stack[-1], below)
        below = [name for name in below if name not in stuck]
        if below:
            stack += below
            continue
        here = stack.pop()
        try:
            os.rmdir(here)
        except OSError:
            stuck.add(here)
    if path in stuck:
        warn(f"could not remove all of {path}")


def _clear(path: str, below: list[str]) -> Iterator[None]:
    """Unlinks what is no directory; the directories are added to `below`."""
    try:
        os.chmod(path, 0o700)  # a job may have taken its own right to write from itself
        entries = os.scandir(path)
    except OSError:
        return
    with entries:
        for count, entry in enumerate(entries, 1):
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.path)
            else:
                _unlink(entry.path)
            if not count % STEP:
                yield


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # the directory will then not go either, and that is reported
