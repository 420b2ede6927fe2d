"""An eventlog as text: a line is a JSON array, and lines joined by commas are a part of a log, stored at once."""

from __future__ import annotations

import json
from collections.abc import Iterable

from fluxlike.job.job import Context, Event

_to_json = json.JSONEncoder(ensure_ascii=False).encode
"""json.dumps would make an encoder for every event."""


def line(timestamp: float, name: str, context: Context | None) -> str:
    return f'[{timestamp!r},"{name}",{"null" if context is None else _to_json(context)}]'


def parse(parts: Iterable[str]) -> list[Event]:
    """The events of a log from its parts in order; empty parts do no harm."""
    return [(ts, name, context) for ts, name, context in json.loads(f"[{','.join(filter(None, parts))}]")]
