"""What people type after the options of `submit` and `run`, as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fluxlike.duration import parse_duration
from fluxlike.errors import InvalidRequest
from fluxlike_cli.group import nearest

FLAGS = ("debug", "novalidate", "waitable")


def time_limit(text: str) -> float:
    """Seconds; a bare number counts minutes, as in every batch system."""
    try:
        seconds = parse_duration(text, "m")
    except InvalidRequest as error:
        raise click.BadParameter(str(error)) from None
    # The jobspec knows no infinity: 0 is without limit.
    return 0.0 if seconds == float("inf") else seconds


def flags(text: str) -> tuple[str, ...]:
    return names_among(FLAGS, text)


def names_among(known: Sequence[str], text: str) -> tuple[str, ...]:
    """Names with commas between them, in either case; an unknown one is told with the nearest."""
    names = tuple(name for name in text.lower().replace(" ", "").split(",") if name)
    if not names:
        raise click.BadParameter(f"give one or more of {', '.join(known)}")
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}.{nearest(name, known)}")
    return names


def copy_ids(text: str) -> list[str]:
    """An idset, as the texts that `{cc}` stands for."""
    from fluxlike.idset import Idset

    try:
        ids = [str(number) for number in Idset.parse(text)]
    except InvalidRequest as error:
        raise click.BadParameter(str(error)) from None
    if not ids:
        raise click.BadParameter("names no number")
    return ids


def begin_time(text: str) -> str:
    """`+FSD` from now, seconds since 1970, or a date and time: as seconds since 1970."""
    try:
        return f"{_moment(text.strip(), '+'):.3f}"
    except (InvalidRequest, ValueError, OverflowError):
        examples = "+30m, 18:00, 2030-12-31, '2030-12-31 18:00'"
        raise click.BadParameter(f"{text!r} is no time; examples: {examples}") from None


def past_time(text: str) -> float:
    """`-FSD` before now, seconds since 1970, or a date and time: as seconds since 1970."""
    try:
        return _moment(text.strip(), "-")
    except (InvalidRequest, ValueError, OverflowError):
        examples = "-30m, 8:00, 2025-12-31, '2025-12-31 18:00'"
        raise click.BadParameter(f"{text!r} is no time; examples: {examples}") from None


def _moment(text: str, sign: str) -> float:
    """`sign` is the side of now on which it lies: `+` to come, `-` gone."""
    from datetime import datetime, time

    from fluxlike.clock import SystemClock

    now = SystemClock().now()
    if text.startswith(sign):
        distance = parse_duration(text[1:])
        return now + distance if sign == "+" else max(0.0, now - distance)
    if text.replace(".", "", 1).isdecimal() and len(text) > 8:
        return float(text)
    if len(text) <= 8 and ":" in text:
        # A time of the day alone is the next such time, or the last.
        today = datetime.fromtimestamp(now).astimezone()
        when = datetime.combine(today.date(), time.fromisoformat(text.zfill(5)), today.tzinfo).timestamp()
        if sign == "+":
            return when if when > now else when + 86400
        return when if when <= now else when - 86400
    return datetime.fromisoformat(text).astimezone().timestamp()


def assignment(text: str) -> tuple[str, object]:
    """`KEY=VALUE`, the value JSON if it can be read as such, text if not; `KEY` alone is 1."""
    key, equals, value = text.partition("=")
    if not key or any(not part for part in key.split(".")):
        raise click.UsageError(f"{text!r} must be KEY or KEY=VALUE, such as output.mode=append")
    return key, _value(value) if equals else 1


def _value(text: str) -> object:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text


def put(tree: dict[str, Any], key: str, value: object) -> None:
    """Set a value by its dotted key, making maps on the way. A usage error if there is a value on the way."""
    *path, last = key.split(".")
    for part in path:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise click.UsageError(f"{key}: {part} has a value already, it cannot hold {last}")
    tree[last] = value
