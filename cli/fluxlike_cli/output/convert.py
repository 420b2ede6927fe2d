"""Values in the form that a layout's `!` asks for."""

from __future__ import annotations

from collections.abc import Callable

from fluxlike.duration import format_duration
from fluxlike.errors import InvalidRequest

ISO_SECONDS = "%Y-%m-%dT%H:%M:%S"


def _number(value: str | float, letter: str) -> float:
    """0 for empty: what is not known yet."""
    if value == "":
        return 0.0
    if isinstance(value, str):
        raise InvalidRequest(f"!{letter} is for numbers, not for {value!r}")
    return value


def _date(value: str | float, form: str, letter: str = "d") -> str:
    at = _number(value, letter)
    if not at:
        return ""
    import time

    return time.strftime(form or ISO_SECONDS, time.localtime(at))


def duration_text(value: str | float, form: str = "") -> str:
    """`1.5h`: no more digits than eight columns hold. Empty for 0."""
    seconds = _number(value, "F")
    if seconds <= 0:
        return ""
    return format_duration(float(f"{seconds:.4g}") if seconds < 60 else round(seconds))


def _hours(value: str | float, form: str) -> str:
    seconds = _number(value, "H")
    if seconds <= 0:
        return ""
    days, rest = divmod(int(seconds), 86400)
    clock = f"{rest // 3600}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def _percent(value: str | float, form: str) -> str:
    return "" if value == "" else f"{_number(value, 'P') * 100:.3g}%"


CONVERSIONS: dict[str, Callable[[str | float, str], str]] = {
    "D": lambda value, form: _date(value, ISO_SECONDS, "D"),
    "d": _date,
    "F": duration_text,
    "H": _hours,
    "P": _percent,
}
"""`D` a time as ISO 8601, `d` a time by strftime, `F` a duration (1.5h), `H` hours:minutes:seconds, `P` percent."""
