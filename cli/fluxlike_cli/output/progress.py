"""A line on the terminal that tells how far a long submission or a long wait is. Nothing where no terminal is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

SHOWN_AFTER = 1.0
"""Seconds. What is done sooner needs no line; `wanted` ones are shown at once."""
REDRAWN_AFTER = 0.1
BAR = 30


class Progress:
    """Counts to `total`, or just counts. Whoever prints in between calls `hide` first. Silent without a stream."""

    def __init__(
        self, verb: str, total: int | None, *, wanted: bool = False, rate: bool = False, stream: TextIO | None
    ) -> None:
        self._verb = verb
        self._total = total
        self._rate = rate
        self._stream = stream or sys.stderr
        self._began = time.monotonic()
        self._due = self._began + (0.0 if wanted else SHOWN_AFTER)
        self._live = stream is not None and stream.isatty()
        self._drawn = self._shown = False
        self.done = 0
        self.failed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A line that was shown stays, with the final count."""
        if self._shown:
            self._draw()
            self._stream.write("\n")
            self._stream.flush()

    def advance(self, done: int = 1, failed: int = 0) -> None:
        self.done += done
        self.failed += failed
        if self._live and time.monotonic() >= self._due:
            self._due = time.monotonic() + REDRAWN_AFTER
            self._draw()

    def hide(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    def _draw(self) -> None:
        self._stream.write(f"\r{self.text(time.monotonic() - self._began)}\x1b[K")
        self._stream.flush()
        self._drawn = self._shown = True

    def text(self, seconds: float) -> str:
        """The line, `seconds` after the beginning."""
        parts = [self._verb]
        if self._total:
            share = min(1.0, self.done / self._total)
            parts += [f"[{'#' * round(share * BAR):<{BAR}}]", f"{share:4.0%} {self.done}/{self._total}"]
        else:
            parts.append(str(self.done))
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self._rate and seconds > 0:
            parts.append(f"{self.done / seconds:.1f} jobs/s")
        return " ".join(parts)
