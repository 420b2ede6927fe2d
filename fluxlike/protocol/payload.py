"""Payload classes: typed, checked once at the door, cheap to import.

Dataclasses and msgspec were measured at 15 and 35 ms of import in the command line, which may cost about
20 ms in all (docs/adr/002); this is the small part of them that messages need. A field without a default is
required.
"""

from __future__ import annotations

from fluxlike.errors import InvalidRequest

# Not taken from typing: importing it costs more than all of our own modules together.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, Self, dataclass_transform

    Check = Callable[[object], bool]
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


@dataclass_transform(kw_only_default=True)
class Payload:
    """Base of every message body. Travels as a map of its fields."""

    topic: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset()
    _checks: ClassVar[dict[str, tuple[str, Check]] | None] = None

    def __init_subclass__(cls) -> None:
        names = [name for name, kind in _annotations(cls).items() if "ClassVar" not in str(kind)]
        cls.fields = (*cls.fields, *names)
        cls.required = frozenset(n for n in cls.fields if not hasattr(cls, n))
        cls._checks = None

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)
        if not self.required <= values.keys():
            raise TypeError(f"{type(self).__name__} lacks {', '.join(sorted(self.required - values.keys()))}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_wire() == other.to_wire()

    def __hash__(self) -> int:
        raise TypeError("payloads are not hashable")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.fields)})"

    def to_wire(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.fields}

    @classmethod
    def from_wire(cls, body: object) -> Self:
        """Raises InvalidRequest naming the field that is missing, unknown or of the wrong type."""
        if body is None:
            body = {}
        if not isinstance(body, dict):
            kind = type(body).__name__
            raise InvalidRequest(f"{cls.topic or cls.__name__}: body must be a map, not {kind}")
        checks = cls._checks
        if checks is None:
            checks = cls._checks = _checks_of(cls)
        for name, value in body.items():
            known = checks.get(name)
            if known is None:
                raise InvalidRequest(f"{cls.topic or cls.__name__}: unknown field {name!r}")
            if not known[1](value):
                raise InvalidRequest(f"{cls.topic or cls.__name__}: {name} must be {known[0]}")
        missing = cls.required - body.keys()
        if missing:
            raise InvalidRequest(f"{cls.topic or cls.__name__}: {', '.join(sorted(missing))} is missing")
        return cls(**body)


def _annotations(cls: type) -> dict[str, object]:
    """What the class itself declares, not its bases."""
    found: dict[str, object] = cls.__dict__.get("__annotations__", {})  # noqa: RUF063  inspect costs 10 ms
    return found


def _checks_of(cls: type[Payload]) -> dict[str, tuple[str, Check]]:
    """Each field's type as it was written, and what tells whether a value is of it."""
    kinds: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        kinds.update(_annotations(base))
    texts = {name: _kind_text(kinds[name]) for name in cls.fields}
    return {name: (text, _check(text)) for name, text in texts.items()}


def _kind_text(kind: object) -> str:
    """Annotations are text, except in a module that does not postpone their evaluation."""
    if isinstance(kind, str):
        return kind
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _check(text: str) -> Check:
    """The types that messages use, read from their text: evaluating it would need the typing module."""
    known = _CHECKS.get(text)
    if known is not None:
        return known
    options = _split(text)
    if len(options) > 1:
        checks = [_check(option) for option in options]
        return lambda value: any(check(value) for check in checks)
    if text.startswith("list[") and text.endswith("]"):
        item = _check(text[5:-1])
        return lambda value: isinstance(value, (list, tuple)) and all(map(item, value))
    if text.startswith("dict[") and text.endswith("]"):
        return lambda value: isinstance(value, dict)
    raise TypeError(f"{text!r} is no type that a payload may have")


def _split(text: str) -> list[str]:
    """The members of a union; bars inside brackets belong to the type in there."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


_CHECKS: dict[str, Check] = {
    "Any": lambda value: True,
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "bytes": lambda value: isinstance(value, bytes),
    "dict": lambda value: isinstance(value, dict),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "list": lambda value: isinstance(value, (list, tuple)),
    "str": lambda value: isinstance(value, str),
}
