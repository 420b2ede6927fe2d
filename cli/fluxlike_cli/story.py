"""What a job's events tell the one who waits for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

_WAITS = {
    "submit": "being checked",
    "validate": "waiting for dependencies",
    "dependency-add": "waiting for dependencies",
    "depend": "waiting for its priority",
    "priority": "waiting for resources",
    "alloc": "starting",
    "prolog-start": "waiting for the prolog",
    "prolog-finish": "starting",
}


class Story:
    """Events in, in order; out: whether tasks run, what the job waits for, its exit code."""

    __slots__ = ("_code", "fatal", "finished", "running", "waits_for")

    def __init__(self) -> None:
        self.waits_for = "being submitted"
        self.running = False
        self.finished = False
        self.fatal = ""
        """Type of the first fatal exception, the root cause."""
        self._code = 0

    def add(self, name: str, context: Mapping[str, Any]) -> None:
        self.waits_for = _WAITS.get(name, self.waits_for)
        if name == "start":
            self.running = True
        elif name == "finish":
            self.running = False
            self.finished = True
            self._code = exit_code(int(context.get("status", 0)))
        elif name == "exception" and context.get("severity") == 0:
            self.fatal = self.fatal or str(context.get("type", "exception"))

    @property
    def exit_code(self) -> int:
        """The job's own, 128+n after a signal; at least 1 for a job that an exception ended."""
        return self._code or (1 if self.fatal else 0)


def exit_code(status: int) -> int:
    """The exit code that a shell would give for this wait status."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
