"""Looking at processes from outside, by /proc: who descends from whom, what they hold open."""

from __future__ import annotations

import ctypes
import os
import re
from collections import Counter
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(adopt: bool) -> None:
    """Whether descendants whose parent dies become children of this process, so that none gets out of sight."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def alive(pid: int) -> bool:
    """Not gone, and not dead with nobody having asked yet."""
    return _read(pid, "stat").rpartition(b") ")[2][:1] not in (b"", b"Z", b"X")


def parent(pid: int) -> int:
    return int(_read(pid, "stat").rpartition(b") ")[2].split()[1])


def descendants(pid: int) -> set[int]:
    """All that live below the process."""
    children: dict[int, list[int]] = {}
    for other in map(int, filter(str.isdigit, os.listdir("/proc"))):
        fields = _read(other, "stat").rpartition(b") ")[2].split()
        if len(fields) > 1 and fields[0] not in (b"Z", b"X"):
            children.setdefault(int(fields[1]), []).append(other)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found


def mentions(pid: int, text: str) -> bool:
    """Whether the environment or the command line of the process holds the text."""
    return text.encode() in _read(pid, "environ") or text.encode() in _read(pid, "cmdline")


def command(pid: int) -> str:
    words = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    return f"{pid} ({words})"


def descriptors(pid: int) -> Counter[str]:
    """What the process holds open, by kind; files by their path."""
    found: Counter[str] = Counter()
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return found
    for number in numbers:
        try:
            target = os.readlink(f"{folder}/{number}")
        except OSError:  # closed meanwhile
            continue
        found[re.sub(r":\[\d+\]$", "", target)] += 1
    return found


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
