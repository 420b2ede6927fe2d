"""The only module that reads the machine's time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Wall time in seconds since 1970, for what is stored."""
        ...


class SystemClock:
    def now(self) -> float:
        return time.time()  # noqa: TID251  this is the one place


class FrozenClock:
    """For tests: stands still until told."""

    def __init__(self, at: float = 1_700_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at
