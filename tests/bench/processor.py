"""Processor time of a running process, all of its threads."""

from __future__ import annotations

import os


def cpu_seconds(pid: int) -> float:
    """In nanoseconds' steps where the kernel counts so, else in its ticks. A thread that has ended is not counted."""
    if os.path.exists(f"/proc/{pid}/schedstat"):
        return sum(_scheduled(f"/proc/{pid}/task/{thread}/schedstat") for thread in os.listdir(f"/proc/{pid}/task"))
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return stat_ticks(file.read()) / os.sysconf("SC_CLK_TCK")


def _scheduled(path: str) -> float:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        # The thread ended after it was listed.
        return 0.0


def stat_ticks(line: str) -> int:
    """User and system ticks of a /proc/PID/stat line. The name before them may hold spaces and parentheses."""
    fields = line.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
