"""The directories of jobs: made before the tasks, gone after them, whatever they left in them."""

from __future__ import annotations

import os
import stat

from fluxlike_executor.clock import wall
from fluxlike_executor.removal import Removals

PREFIX = "job-"

SPARES = 256
"""Untouched directories kept at most: enough for the jobs of a busy moment. To make and remove one on a disk costs
as much as to start a process."""

GRAIN = 50_000_000
"""Nanoseconds that may lie between two changes with the same time stamp: the kernel's clock for files ticks slowly."""

SECOND = 1_000_000_000


class JobDirectories:
    """A directory in which no job has ever done anything is given to a later one; all others are removed at once.

    An untouched one rests until `settle` says that nobody is left of its job who might still write there."""

    __slots__ = ("_given", "_removals", "_resting", "_spares")

    def __init__(self) -> None:
        self._removals = Removals()
        self._given: dict[str, int] = {}
        """In use; with the time of its last change, or 0 where only a look inside can tell whether that was it."""
        self._resting: list[tuple[str, int]] = []
        self._spares: list[tuple[str, int]] = []

    def make(self, base: str) -> str:
        """Private and empty. Raises OSError."""
        if self._spares:
            path, changed = self._spares.pop()
            if path.startswith(base) and path.rfind("/") == len(base):
                # A time of whole seconds is one that the file system has rounded.
                self._given[path] = changed if changed % SECOND and wall() * SECOND - changed > GRAIN else 0
                return path
            self._removals.add(path)  # of a broker that has moved
        path = _make(base)
        self._given[path] = 0
        return path

    def release(self, path: str, *, reusable: bool) -> None:
        """The job is over. Not reusable: some of its processes may be about to end only."""
        changed = self._given.pop(path)
        if reusable and len(self._resting) + len(self._spares) < SPARES and (changed := _untouched(path, changed)):
            self._resting.append((path, changed))
        else:
            self._removals.add(path)

    def settle(self, clean: bool) -> None:
        """Clean: of the jobs whose directories were released before, no process is left, nor was one till now."""
        if clean:
            self._spares += self._resting
        else:
            self._remove(self._resting)
        self._resting = []

    def remove_spares(self) -> None:
        self._remove(self._spares)
        self._remove(self._resting)
        self._spares, self._resting = [], []

    def _remove(self, directories: list[tuple[str, int]]) -> None:
        for path, _ in directories:
            self._removals.add(path)

    def remove_all(self, base: str) -> None:
        """What an executor that was killed left there. Only what looks like a job's: the base is another's word."""
        try:
            names = os.listdir(base)
        except OSError:
            return
        for name in names:
            if name.startswith(PREFIX):
                self._removals.add(f"{base}/{name}")

    def pending(self) -> bool:
        """Large trees are removed in steps; some are left to do."""
        return bool(self._removals)

    def step(self) -> None:
        self._removals.step()

    def complete(self) -> None:
        self.remove_spares()
        self._removals.complete()


def _make(base: str) -> str:
    while True:
        path = f"{base}/{PREFIX}{os.urandom(5).hex()}"
        try:
            os.mkdir(path, 0o700)
        except FileNotFoundError:
            os.makedirs(base, 0o700, exist_ok=True)
        except FileExistsError:
            continue
        else:
            return path


def _untouched(path: str, changed: int) -> int:
    """The time of its last change if it is as it was made, else 0."""
    try:
        found = os.lstat(path)
        if found.st_ctime_ns == changed:
            return changed
        if (
            not changed
            and stat.S_ISDIR(found.st_mode)
            and stat.S_IMODE(found.st_mode) == 0o700
            and not os.listdir(path)
        ):
            return found.st_ctime_ns
    except OSError:
        return 0
    return 0
