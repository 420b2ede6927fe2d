"""Changing a jobspec after its submission: which attributes, by which names, and to what."""

from __future__ import annotations

import math
from typing import Any

from fluxlike.duration import parse_duration
from fluxlike.errors import InvalidRequest

DURATION = "attributes.system.duration"
NAME = "attributes.system.job.name"

PATHS = {"duration": DURATION, "name": NAME, DURATION: DURATION, NAME: NAME}
"""What may be changed, in both ways to say it."""


def changes(updates: dict[str, Any], duration: float) -> dict[str, Any]:
    """path -> new value. `duration` is the present one, for what is said relative to it. Raises InvalidRequest."""
    if not updates:
        raise InvalidRequest("nothing to change: give duration or name")
    found: dict[str, Any] = {}
    for key, value in updates.items():
        path = PATHS.get(key)
        if path is None:
            raise InvalidRequest(f"{key!r} cannot be changed; duration and name can")
        if path in found:
            raise InvalidRequest(f"{path} is given twice")
        found[path] = _name(value) if path == NAME else _duration(value, duration)
    return found


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidRequest(f"name: a job cannot be called {value!r}")
    return value


def _duration(value: Any, present: float) -> float:
    """Seconds, 0 for no limit; text is a duration, with a sign one more or less than the present."""
    if isinstance(value, str):
        seconds = _signed(value, present) if value[:1] in ("+", "-") else parse_duration(value)
        seconds = 0.0 if seconds == math.inf else seconds
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
    else:
        raise InvalidRequest(f"duration: {value!r} is neither a number of seconds nor a text such as +30m")
    if not (math.isfinite(seconds) and seconds >= 0):
        raise InvalidRequest(f"duration: {value} would make it {seconds:g} s")
    return seconds


def _signed(text: str, present: float) -> float:
    step = parse_duration(text[1:])
    if not present:
        raise InvalidRequest(f"duration: the job has no time limit that {text} could change; give one without a sign")
    if text[0] == "+":
        return present + step
    if step >= present:
        raise InvalidRequest(f"duration: {text} leaves nothing of {present:g} s")
    return present - step


def updated(document: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """A jobspec like this one, with these values at these dotted paths. What does not change is shared."""
    result = dict(document)
    for path, value in values.items():
        *outer, last = path.split(".")
        place = result
        for key in outer:
            place[key] = dict(place.get(key) or {})
            place = place[key]
        place[last] = value
    return result
