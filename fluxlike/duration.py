"""Flux Standard Durations (RFC 23): `1.5s`, `90m`, `inf`."""

from __future__ import annotations

from fluxlike.errors import InvalidRequest

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in each unit."""

_INFINITE = ("inf", "infinity")
_DECIMAL = "0123456789.eE+-"
_HEXADECIMAL = "0123456789abcdefABCDEFxXpP.+-"


def parse_duration(text: str, default_unit: str = "s") -> float:
    """Seconds, possibly infinite. A bare number counts in `default_unit`.

    InvalidRequest quotes what is no duration, or too long for a float without being spelled `inf`.
    """
    if text.lower() in _INFINITE:
        return float("inf")
    hexadecimal = text[:2] in ("0x", "0X")
    unit = text.lstrip(_HEXADECIMAL if hexadecimal else _DECIMAL)
    number = text[: len(text) - len(unit)]
    scale = UNITS.get(unit or default_unit)
    if scale is None or not number or number[0] == "-":
        raise _refusal(text)
    try:
        seconds = (float.fromhex(number) if hexadecimal else float(number)) * scale
    except (ValueError, OverflowError):
        raise _refusal(text) from None
    if seconds == float("inf"):  # too many digits is a mistake, not a wish for eternity
        raise _refusal(text)
    return seconds


def format_duration(seconds: float) -> str:
    """Six significant digits in the largest unit that fits: `1.5s`, `2.5m`, `3h`; below 0.1 s in `ms`.

    Parsing the text gives the same duration to those six digits.
    """
    if not seconds >= 0:
        raise ValueError(f"a duration cannot be {seconds}")
    if seconds == float("inf"):
        return "infinity"
    if 0 < seconds < 0.1:
        return f"{seconds * 1000:g}ms"
    if seconds < 60:
        return f"{seconds:g}s"
    if seconds < 3600:
        return f"{seconds / 60:g}m"
    if seconds < 86400:
        return f"{seconds / 3600:g}h"
    return f"{seconds / 86400:g}d"


def _refusal(text: str) -> InvalidRequest:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return InvalidRequest(
        f"invalid duration {shown!r}: expected a number with an optional unit (ms, s, m, h or d), or inf"
    )
