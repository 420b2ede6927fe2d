"""One line that tells what a command waits for, on a terminal only."""

from __future__ import annotations

import sys
import time

PERIOD = 1.0
"""Seconds between updates, and before the first: what takes less needs no explanation."""


class StatusLine:
    """`ƒuZZybuNNy: waiting for resources 00:00:08` on standard error, rewritten in place."""

    def __init__(self, subject: str, *, enabled: bool | None = None) -> None:
        self._subject = subject
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._since = time.monotonic()
        self._shown = False

    @property
    def period(self) -> float | None:
        """How long to wait before the next `show`; None: for ever."""
        return PERIOD if self._enabled else None

    def show(self, text: str) -> None:
        waited = time.monotonic() - self._since
        if self._enabled and waited >= PERIOD:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{self._subject}: {text} {hours(waited)}")
            sys.stderr.flush()

    def hide(self) -> None:
        """Clear the line, before anything else is written to the terminal."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def stop(self) -> None:
        self.hide()
        self._enabled = False


def hours(seconds: float) -> str:
    """00:00:08"""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
