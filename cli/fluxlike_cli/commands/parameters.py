"""What people type, as values: job ids, durations, signals, urgencies. Each is the `type` of an option."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fluxlike_cli.targets import Target

URGENCY_NAMES = {"hold": 0, "default": 16, "expedite": 31}

TEN_YEARS = 10 * 365.25 * 86400


def job_id(text: str) -> int:
    """A job id in any of its encodings."""
    from fluxlike.errors import InvalidRequest
    from fluxlike.ids import decode

    try:
        return decode(text)
    except InvalidRequest as error:
        raise click.BadParameter(str(error)) from None


def target(text: str) -> Target:
    """A job, or a task of an array: ID.INDEX."""
    from fluxlike.errors import InvalidRequest
    from fluxlike_cli.targets import parse_target

    try:
        return parse_target(text)
    except InvalidRequest as error:
        raise click.BadParameter(str(error)) from None


def duration(text: str) -> float:
    """Seconds of a Flux standard duration (`1.5s`, `10m`, `2h`); a bare number is seconds."""
    from fluxlike.duration import parse_duration
    from fluxlike.errors import InvalidRequest

    try:
        return parse_duration(text)
    except InvalidRequest as error:
        raise click.BadParameter(str(error)) from None


def timeout(text: str) -> float | None:
    """A duration to wait at most. None for ever: sockets take no timeout like `inf` or ten years."""
    seconds = duration(text)
    return seconds if seconds < TEN_YEARS else None


def signal(text: str) -> int:
    """`TERM`, `SIGTERM`, `sigterm` or 15."""
    from signal import Signals, valid_signals

    word = text.strip().upper()
    if word.isdecimal():
        if int(word) in valid_signals():
            return int(word)
    else:
        name = word if word.startswith("SIG") else f"SIG{word}"
        if name in Signals.__members__:
            return int(Signals[name])
    raise click.BadParameter(f"{text!r} is not a signal; give a name or number that `kill -l` lists")


def urgency(text: str) -> int:
    """0 to 31, or one of three names."""
    word = text.strip().lower()
    if word in URGENCY_NAMES:
        return URGENCY_NAMES[word]
    if word.isdecimal() and int(word) <= 31:
        return int(word)
    raise click.BadParameter(f"{text!r} is neither a number from 0 to 31 nor hold, default or expedite")
