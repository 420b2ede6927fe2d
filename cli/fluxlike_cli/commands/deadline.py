"""How long a waiting command goes on."""

from __future__ import annotations

import time


class Deadline:
    """A point in time, or never (None)."""

    def __init__(self, seconds: float | None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Seconds left, 0 when it has passed, None for never."""
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    @property
    def passed(self) -> bool:
        return self._at is not None and time.monotonic() >= self._at
