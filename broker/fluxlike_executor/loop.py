"""The one loop: descriptors, deadlines, and a pass after each batch of events. Sleeps while nothing happens."""

from __future__ import annotations

import select
from collections.abc import Callable

from fluxlike_executor.clock import monotonic
from fluxlike_executor.log import warn
from fluxlike_executor.timers import Timer, Timers

READ = select.EPOLLIN
WRITE = select.EPOLLOUT

Handler = Callable[[int], None]


class Loop:
    __slots__ = ("_code", "_epoll", "_handlers", "_timers")

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._timers = Timers()
        self._code: int | None = None

    def watch(self, fd: int, events: int, handler: Handler) -> None:
        """Again for the same descriptor: the events change, the handler too."""
        if fd in self._handlers:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def forget(self, fd: int) -> None:
        """Must come before the descriptor is closed: a child about to exec may still hold a copy of it, and epoll
        would go on reporting a number that is no longer ours."""
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def after(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self._timers.add(monotonic() + seconds, callback)

    def stop(self, code: int) -> None:
        self._code = code

    def run(self, each_pass: Callable[[], bool]) -> int:
        """Until `stop`. `each_pass` answers whether it left work that should not wait for an event."""
        busy = True
        while self._code is None:
            try:
                self._wait(0 if busy else self._patience())
                busy = True
                for callback in self._timers.due(monotonic()):
                    callback()
                busy = each_pass()
            except Exception as error:  # noqa: BLE001  one job's surprise must not end the tasks of all others
                _report(error)
        return self._code

    def _wait(self, patience: float | None) -> None:
        for fd, events in self._epoll.poll(patience):
            handler = self._handlers.get(fd)
            if handler is not None:
                self._call(fd, handler, events)

    def _patience(self) -> float | None:
        deadline = self._timers.next()
        return None if deadline is None else max(0.0, deadline - monotonic())

    def _call(self, fd: int, handler: Handler, events: int) -> None:
        try:
            handler(events)
        except Exception:
            self.forget(fd)  # or it would be reported again at once, for ever
            raise

    def close(self) -> None:
        self._epoll.close()


def _report(error: Exception) -> None:
    import traceback  # only ever needed here, and not small

    warn("internal error: " + "".join(traceback.format_exception(error)).rstrip())
