"""One request as its handler sees it: answer now, later, or many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fluxlike.errors import FluxlikeError
from fluxlike.protocol.message import Flag, Message


class Answers(Protocol):
    def answer(self, call: Call, response: Message) -> None: ...


class Call:
    __slots__ = ("_answers", "_on_cancel", "done", "message")

    def __init__(self, answers: Answers, message: Message) -> None:
        self._answers = answers
        self.message = message
        self.done = bool(message.flags & Flag.NO_RESPONSE)
        self._on_cancel: Callable[[], None] | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        """Names the request across the tree: origin rank, its sender there, its tag."""
        message = self.message
        return (message.route[0], message.sender, message.matchtag)

    def respond(self, body: object = None) -> None:
        """The one answer, or the last of a stream if it carries something."""
        self._finish(self.message.response(body, flags=0))

    def send(self, body: object) -> None:
        """One of several answers; a stream ends with `end` or `fail`."""
        if not self.done:
            self._answers.answer(self, self.message.response(body, flags=Flag.STREAM))

    def end(self) -> None:
        self._finish(self.message.response(flags=Flag.END))

    def fail(self, error: FluxlikeError) -> None:
        self._finish(self.message.response(error=error))

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Called if the asker goes away before the answer; nothing can be answered then."""
        self._on_cancel = callback

    def cancel(self) -> None:
        if not self.done:
            self.done = True
            if self._on_cancel is not None:
                self._on_cancel()

    def _finish(self, response: Message) -> None:
        if not self.done:
            self.done = True
            self._answers.answer(self, response)
