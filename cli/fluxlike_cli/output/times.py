"""Times as people read them: ISO in UTC for files, minutes and steps for eyes."""

from __future__ import annotations

import time


def iso(timestamp: float) -> str:
    """2024-01-31T12:00:00.123456Z"""
    seconds, micros = _split(timestamp)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06d}Z"


def local(timestamp: float) -> str:
    """2024-01-31 12:00:00 in the reader's time zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(timestamp))


def clock(timestamp: float) -> str:
    """12:00:00 in the reader's time zone."""
    return time.strftime("%H:%M:%S", time.localtime(timestamp))


def elapsed(seconds: float) -> str:
    """2.4m: the largest unit that fits and one digit behind the point, which is what a glance takes in."""
    seconds = max(0.0, seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f}{unit}"
    return f"{seconds:.1f}s"


class HumanStamps:
    """`[Jan31 12:00]` when the minute changes, in between `[  +0.012345]`: the step from the line before."""

    def __init__(self) -> None:
        self._minute = -1
        self._last = 0.0

    def __call__(self, timestamp: float) -> str:
        minute = int(timestamp // 60)
        step = timestamp - self._last
        self._last = timestamp
        # A clock that was set back would give a negative step: say the time again instead.
        if minute != self._minute or step < 0:
            self._minute = minute
            return time.strftime("[%b%d %H:%M]", time.localtime(timestamp))
        return f"[{f'+{step:.6f}':>11}]"


def _split(timestamp: float) -> tuple[int, int]:
    micros = round(timestamp * 1_000_000)
    return micros // 1_000_000, micros % 1_000_000
