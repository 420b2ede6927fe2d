"""Reading one field of a document that may hold anything. A refusal names the path of the field."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from fluxlike.errors import InvalidJobspec

MAX_DEPTH = 64
"""Levels below a free-form attribute. A YAML alias to itself has no end; nobody means more than this."""

MAX_VALUES = 100_000
"""Values below one free-form attribute. A few lines of YAML aliases can stand for billions."""


def refuse(text: str, path: str) -> NoReturn:
    raise InvalidJobspec(text, path)


def shown(value: object) -> str:
    """A value as an error text quotes it: short, and safe to print whatever it is."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return str(value)
    return {"dict": "a map", "list": "a list", "tuple": "a list", "int": "a huge number"}.get(
        type(value).__name__, f"a value of type {type(value).__name__}"
    )


def member(path: str, key: object) -> str:
    """The path of a key that a user chose."""
    plain = isinstance(key, str) and key.isascii() and key.replace("-", "_").isidentifier() and len(key) <= 60
    return f"{path}.{key}" if plain else f"{path}[{shown(key)}]"


def nearest(word: object, known: Collection[str]) -> str:
    """What to say after "unknown ...": the known name that looks most like it, else all of them."""
    from difflib import get_close_matches  # only a refusal pays for it

    close = get_close_matches(str(word)[:60], known, n=1) if isinstance(word, str) else []
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"


def mapping(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(f"must be a map, not {shown(value)}", path)
    return value


def known_keys(body: dict[str, Any], known: Collection[str], path: str) -> None:
    for key in body:
        if key not in known:
            refuse(f"unknown key {shown(key)}: {nearest(key, known)}", member(path, key).removeprefix("."))


def items(value: object, path: str) -> Sequence[Any]:
    """A list with something in it."""
    if not isinstance(value, (list, tuple)):
        refuse(f"must be a list, not {shown(value)}", path)
    if not value:
        refuse("must not be empty", path)
    return value


def string(value: object, path: str) -> str:
    """Text that can be stored, sent and handed to a program: valid Unicode without NUL."""
    if not isinstance(value, str):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        refuse(f"must be a string, not {shown(value)}{' (quote it)' if number else ''}", path)
    if "\0" in value:
        refuse("must not contain a NUL character", path)
    if not value.isascii() and not _encodable(value):
        refuse(f"must be valid Unicode, {shown(value)} is not", path)
    return value


def name(value: object, path: str) -> str:
    """A string that is not empty."""
    if not string(value, path):
        refuse("must not be empty", path)
    return str(value)


def positive(value: object, path: str, largest: int) -> int:
    if type(value) is not int:  # a bool is an int to isinstance
        refuse(f"must be a positive integer, not {shown(value)}", path)
    if not 1 <= value <= largest:
        refuse(f"must be between 1 and {largest}, not {shown(value)}", path)
    return value


def seconds(value: object, path: str) -> float:
    # The comparison is false for NaN, and for infinity, which JSON cannot carry.
    if type(value) not in (int, float) or not 0 <= value <= 1e300:  # type: ignore[operator]  # narrowed just before
        refuse(f"must be a number of seconds, 0 or more, not {shown(value)}", path)
    return float(value)  # type: ignore[arg-type]  # as above


def freeform(value: object, path: str) -> None:
    """Anything that JSON, msgpack and the store can all carry."""
    _Freeform().check(value, path, 0)


class _Freeform:
    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def check(self, value: object, path: str, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            refuse("holds too much" if self.left < 0 else "is nested too deeply", _cut(path))
        if isinstance(value, str):
            string(value, path)
        elif isinstance(value, dict):
            self.check_map(value, path, depth)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self.check(item, f"{path}[{index}]", depth + 1)
        elif not _is_scalar(value):
            refuse(f"JSON has no place for {shown(value)}", path)

    def check_map(self, value: dict[Any, Any], path: str, depth: int) -> None:
        for key, item in value.items():
            place = member(path, key)
            string(key, place)
            self.check(item, place, depth + 1)


def _is_scalar(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, float):
        return value - value == 0.0  # neither NaN nor infinite
    return type(value) is int and -(2**63) <= value < 2**64


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _cut(path: str) -> str:
    return path if len(path) <= 200 else path[:197] + "..."
