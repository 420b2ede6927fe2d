"""The directories of jobs: made before the tasks, gone after them, whatever they left in them."""

from __future__ import annotations

import os
import stat

from fluxlike_executor.jobid import ALPHABET
from fluxlike_executor.removal import Removals

SPARES = 64
"""Empty directories kept for the next job. On a disk, renaming one costs a quarter of making and removing it."""

SPARE = ".spare-"


def make(base: str, name: str) -> str:
    """Raises OSError. One that an earlier attempt left behind is taken over; a link in its place is not."""
    path = f"{base}/{name}"
    try:
        os.mkdir(path, 0o700)
    except FileNotFoundError:
        os.makedirs(base, 0o700, exist_ok=True)
        os.mkdir(path, 0o700)
    except FileExistsError:
        if os.path.islink(path) or not os.path.isdir(path):
            raise
    return path


class JobDirectories:
    """Between busy moments nothing is left of any of them: spares exist only while other jobs run."""

    __slots__ = ("_made", "_removals", "_spares")

    def __init__(self) -> None:
        self._removals = Removals()
        self._spares: list[tuple[str, str]] = []
        self._made = 0

    def make(self, base: str, name: str) -> str:
        """Private and, unless an earlier attempt left it, empty. Raises OSError."""
        if self._spares and self._spares[-1][0] == base:
            path = f"{base}/{name}"
            try:
                os.rename(self._spares[-1][1], path)
            except OSError:
                return make(base, name)
            self._spares.pop()
            return path
        return make(base, name)

    def release(self, path: str, busy: bool) -> None:
        """The job is over. `busy` says that others run, and that a spare may be wanted soon."""
        if busy and len(self._spares) < SPARES and _as_new(path) and self._put_by(path):
            return
        self._removals.add(path)
        if not busy:
            self._remove_spares()

    def _put_by(self, path: str) -> bool:
        base = path.rpartition("/")[0]
        self._made += 1
        spare = f"{base}/{SPARE}{self._made}"
        try:
            os.rename(path, spare)
        except OSError:
            return False
        self._spares.append((base, spare))
        return True

    def _remove_spares(self) -> None:
        for _, spare in self._spares:
            self._removals.add(spare)
        self._spares.clear()

    def remove_all(self, base: str) -> None:
        """What an executor that was killed left there. Only what looks like a job's: the base is another's word."""
        try:
            names = os.listdir(base)
        except OSError:
            return
        for name in names:
            if name.startswith(SPARE) or (name.startswith("f") and set(name[1:]) <= set(ALPHABET)):
                self._removals.add(f"{base}/{name}")

    def pending(self) -> bool:
        """Large trees are removed in steps; some are left to do."""
        return bool(self._removals)

    def step(self) -> None:
        self._removals.step()

    def complete(self) -> None:
        self._remove_spares()
        self._removals.complete()


def _as_new(path: str) -> bool:
    """Nothing in it, and still ours alone."""
    try:
        found = os.lstat(path)
        return stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700 and not os.listdir(path)
    except OSError:
        return False
