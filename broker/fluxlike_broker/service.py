"""How a service declares what it answers: one method per payload class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fluxlike.protocol.payload import Payload

F = TypeVar("F", bound=Callable[..., Any])


def request(payload: type[Payload]) -> Callable[[F], F]:
    """Marks `method(self, request, call)` as the answer to `payload.topic`.

    Return a payload to answer at once; return None to answer later through `call`."""

    def mark(function: F) -> F:
        function.answers = payload  # type: ignore[attr-defined]
        return function

    return mark


def handlers_of(service: object) -> list[tuple[type[Payload], Callable[..., Any]]]:
    found = []
    for name in dir(type(service)):
        payload = getattr(getattr(type(service), name), "answers", None)
        if payload is not None:
            found.append((payload, getattr(service, name)))
    return found
