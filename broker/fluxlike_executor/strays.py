"""Descendants of tasks that left their process group. The executor inherits them as sub-reaper; here it tells whose
they are, and ends those whose job is over."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

from fluxlike_executor.clock import monotonic
from fluxlike_executor.environment import COMMAND
from fluxlike_executor.job import Job
from fluxlike_executor.loop import Loop
from fluxlike_executor.timers import Timer

INTERVAL = 0.02
"""Seconds between two looks. With thousands of short jobs a second, one look per job would show."""

_CHILDREN = "/proc/{0}/task/{1}/children"


def _read(path: str) -> bytes:
    """Of a file in /proc; nothing when the process is gone or not ours to look at."""
    pieces: list[bytes] = []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while piece := os.read(fd, 64 << 10):
            pieces.append(piece)
    except OSError:
        return b""
    finally:
        os.close(fd)
    return b"".join(pieces)


def children(pid: int) -> list[int]:
    """Of all its threads."""
    if not os.path.exists(_CHILDREN.format(os.getpid(), os.getpid())):
        return _children_by_parent(pid)
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(word) for thread in threads for word in _read(_CHILDREN.format(pid, thread)).split()]


def _children_by_parent(pid: int) -> list[int]:
    """The slow way, for kernels built without the list of children."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [child for child in pids if _parent(child) == pid]


def _parent(pid: int) -> int:
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def kill_tree(pid: int) -> None:
    """The process and all below it, parents first so that they start no more."""
    pids = [pid]
    while pids:
        pid = pids.pop()
        pids += children(pid)
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_all_descendants() -> None:
    for child in children(os.getpid()):
        kill_tree(child)


def kill_tasks_under(uri: bytes) -> None:
    """Every process of a job or command of this broker. For an executor that has started none itself: they are what
    one that was killed left behind. Their jobs have failed by then, and what they hold is given to others."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            found = _environment(int(name), uri)
            if b"FLUX_JOB_ID" in found or COMMAND in found:
                kill_tree(int(name))


def _environment(pid: int, uri: bytes) -> dict[bytes, bytes]:
    """What it was started with, if that was under this instance; else nothing."""
    found: dict[bytes, bytes] = {}
    for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
        name, _, value = entry.partition(b"=")
        found[name] = value
    return found if found.get(b"FLUXLIKE_URI") == uri else {}


def _job_in_environment(pid: int, uri: bytes) -> bytes:
    return _environment(pid, uri).get(b"FLUX_JOB_ID", b"")


class Strays:
    """Children of the executor that it did not spawn, each with the job it came from, found out once."""

    __slots__ = ("_looked", "_loop", "_own", "_owners", "_reaped", "_sought", "_tasks", "_timer", "uri")

    def __init__(self, loop: Loop, tasks: Mapping[int, tuple[Job, int]], looked: Callable[[bool], None]) -> None:
        """`tasks` are the executor's own: the process of each running task, its job and index. `looked` is told after
        each look whether it was clean: since the one before, no job that is over had left a process."""
        pid = os.getpid()
        own = _CHILDREN.format(pid, pid)
        self._own = own if os.path.exists(own) else ""
        self._loop = loop
        self._tasks = tasks
        self._looked = looked
        self._reaped = False
        self._owners: dict[int, bytes] = {}
        self._timer: Timer | None = None
        self._sought = 0.0
        self.uri = b""
        """The instance's, by which its own jobs are told from those of an instance nested in it."""

    def reaped(self, pid: int) -> None:
        """One is gone; its own children may have become ours."""
        self._owners.pop(pid, None)
        self._reaped = True
        self.look()

    def look(self) -> None:
        """In this pass if the last look is some time ago, else as soon as it is."""
        if self._timer is None:
            self._timer = self._loop.after(self._sought + INTERVAL - monotonic(), self._end_ownerless)

    def _end_ownerless(self) -> None:
        self._timer = None
        self._sought = monotonic()
        found = map(int, _read(self._own).split()) if self._own else _children_by_parent(os.getpid())
        pids = [pid for pid in found if pid not in self._tasks]
        clean = not self._reaped
        self._reaped = False
        if pids:
            sessions = {pid: job.name for pid, (job, _) in self._tasks.items()}
            clean = self._judge(pids, sessions, set(sessions.values())) and clean
        self._looked(clean)

    def _judge(self, pids: list[int], sessions: dict[int, bytes], live: set[bytes]) -> bool:
        """A stray of unknown origin is left alone while it could belong to a running job. True: all belong to one."""
        clean = True
        for pid in pids:
            owner = self._owners.get(pid)
            if owner is None:
                owner = _session_owner(pid, sessions) or _job_in_environment(pid, self.uri)
                self._owners[pid] = owner
            if owner in live:
                continue
            clean = False
            if owner or not live:
                kill_tree(pid)
        return clean


def _session_owner(pid: int, tasks: dict[int, bytes]) -> bytes:
    try:
        return tasks.get(os.getsid(pid), b"")
    except OSError:
        return b""
