"""A job's events as lines of text or JSON (RFC 18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fluxlike_cli.output.json import format_json
from fluxlike_cli.output.times import HumanStamps, iso


class EventFormatter:
    """Turns events into lines. Use one per log, from its start: offsets count from the first event."""

    def __init__(self, form: str = "text", times: str = "raw", human: bool = False) -> None:
        """`form`: text or json; `times`: raw, iso or offset. `human` overrides `times`."""
        self._json = form == "json"
        self._first: float | None = None
        self._stamp: Callable[[float], str] = (
            HumanStamps() if human else {"raw": _raw, "iso": iso, "offset": self._offset}[times]
        )

    def line(self, timestamp: float, name: str, context: Mapping[str, Any] | None) -> str:
        if self._json:
            return format_json(event_json(timestamp, name, context), compact=True)
        parts = [self._stamp(timestamp), name]
        parts += [f"{key}={format_json(value, compact=True)}" for key, value in (context or {}).items()]
        return " ".join(parts)

    def _offset(self, timestamp: float) -> str:
        if self._first is None:
            self._first = timestamp
        return f"{timestamp - self._first:.6f}"


def event_json(timestamp: float, name: str, context: Mapping[str, Any] | None) -> dict[str, Any]:
    event: dict[str, Any] = {"timestamp": timestamp, "name": name}
    if context:
        event["context"] = dict(context)
    return event


def _raw(timestamp: float) -> str:
    return f"{timestamp:.6f}"
