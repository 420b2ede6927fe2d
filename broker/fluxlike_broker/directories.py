"""Run and state directories: private, recorded, and one broker per rank at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile

from fluxlike.config import environment
from fluxlike.config.registry import without_password
from fluxlike.errors import ConfigError

JOBS_FILE = "jobs.sqlite"
STORE_NOTE = "store"
"""In a state directory: where its jobs are, if not in it."""

SOCKET_PATH_LIMIT = 107
"""Bytes of a unix socket's path on Linux; `RUNDIR/RANK/executor.sock` and its like must fit."""


def private(path: str) -> str:
    """Make the directory, or check that it is ours alone. Raises ConfigError."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise ConfigError(f"{path} is not a directory of uid {os.geteuid()}")
    if info.st_mode & 0o077:
        os.chmod(path, 0o700)
    return path


def throw_away() -> str:
    """A run directory that ends with its instance: in the user's place for such, unless its path is too long."""
    base = environment.tempdir()
    return tempfile.mkdtemp(prefix="fluxlike-", dir=base if _fits(os.path.join(base, "fluxlike-12345678")) else "/tmp")


def _fits(rundir: str) -> bool:
    return len(os.fsencode(rundir)) + len("/99999/executor.sock.lock") < SOCKET_PATH_LIMIT


def of_state(statedir: str) -> str:
    """The run directory that belongs to a state directory: the same one each time, so that the URI stays."""
    inside = os.path.join(statedir, "run")
    if _fits(inside):
        return private(inside)
    return private(_recorded_elsewhere(statedir))


def _recorded_elsewhere(statedir: str) -> str:
    """For a state directory whose path is too long for sockets: a directory in the temporary one, noted down."""
    note = os.path.join(statedir, "rundir")
    if os.path.exists(note):
        with open(note, encoding="utf-8") as file:
            return file.read().strip()
    chosen = throw_away()
    with open(note, "w", encoding="utf-8") as file:
        file.write(chosen)
    return chosen


def belong(statedir: str | None, url: str) -> None:
    """A state directory and a store elsewhere stay together: raises ConfigError if rank 0 would mix two of them up.

    `url` is empty for the store in the directory itself."""
    if statedir is None:
        if url:
            raise ConfigError(
                "--store needs --statedir DIR as well: keys, job output and running tasks are found there"
            )
        return
    note = os.path.join(statedir, STORE_NOTE)
    known, wanted = _noted(note), without_password(url)
    if url and os.path.exists(os.path.join(statedir, JOBS_FILE)):
        raise ConfigError(f"{statedir} has jobs of its own, in {JOBS_FILE}: start it without --store, or take another")
    if known and known != wanted:
        text = f"the jobs of {statedir} are in {known}: start it with --store '{known}'"
        raise ConfigError(f"{text}; if they have moved, remove {note}")
    if url and not known:
        with open(note, "w", encoding="utf-8") as file:
            file.write(f"{wanted}\n")


def _noted(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def remove(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


class RankLock:
    """Held by a broker for its whole life; whoever can take it knows that no broker of that rank lives."""

    def __init__(self, directory: str, name: str = "broker.lock") -> None:
        self.path = os.path.join(directory, name)
        self._fd = -1

    def take(self) -> bool:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode())
        self._fd = fd
        return True

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_held(path: str) -> bool:
    """Whether a living process holds this lock file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
