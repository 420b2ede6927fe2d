"""Waiting for a condition, never for a while; what was seen last is shown when the time is up."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL = 0.01
"""Seconds between two looks."""


def wait_until(condition: Callable[[], T], timeout: float = 20.0, show: Callable[[], object] | None = None) -> T:
    """The first true value of the condition. AssertionError, with the last value and `show()`, when time is up."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            state = "" if show is None else f"; state: {show()}"
            raise AssertionError(f"not so after {timeout:g} s; last value: {found!r}{state}")
        select.select([], [], [], POLL)
