"""The end of the executor: SIGTERM to all tasks, SIGKILL to every descendant soon after, then exit."""

from __future__ import annotations

import signal
from functools import partial

from fluxlike_executor.killing import next_wait
from fluxlike_executor.loop import Loop
from fluxlike_executor.runner import Runner
from fluxlike_executor.strays import kill_all_descendants

GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL, or the kill timeout if that is shorter: someone is waiting for the end."""

LAST_WORDS = 2.0
"""Seconds for the broker to make room for output that is still in the pipes of ended tasks."""


class Ending:
    __slots__ = ("_executor", "_loop", "_muted", "begun")

    def __init__(self, loop: Loop, executor: Runner) -> None:
        self._loop = loop
        self._executor = executor
        self._muted = False
        self.begun = False

    def begin(self) -> None:
        """Harmless when repeated."""
        if self.begun:
            return
        self.begun = True
        self._executor.end_jobs(signal.SIGTERM)
        grace = min(GRACE, self._executor.instance.kill_timeout)
        self._loop.after(grace, partial(self._kill, 0.0))
        self._loop.after(grace + LAST_WORDS, self._mute)

    def _kill(self, wait: float) -> None:
        kill_all_descendants()
        self._loop.after(next_wait(wait), partial(self._kill, next_wait(wait)))

    def _mute(self) -> None:
        self._muted = True

    def check(self, listener: bool) -> None:
        """Stops the loop once no descendant is left and, if there is a listener, all output is out."""
        if not self.begun or self._executor.reap():
            return
        if self._muted or not listener or not self._executor.draining():
            self._executor.close()
            self._loop.stop(0)
