"""Hostlists (RFC 29): ordered lists of host names, written short like `node[0-3,7],login`."""

from __future__ import annotations

from fluxlike.errors import InvalidRequest, NotFound

# Not taken from typing: importing it costs more than all of our own modules together.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_HOSTS = 1 << 20
"""Most names in one list. A dozen characters can ask for billions; the largest machines have 160,000."""

MAX_NAME = 255
"""Longest name in characters, DNS's limit. Without it a long prefix times many ids would fill the memory."""

# Longer digit strings are serial numbers, not ids somebody counts through.
_MAX_DIGITS = 18


class Hostlist:
    """An immutable list of host names: order, repeats and zero padding are kept."""

    __slots__ = ("names",)
    names: tuple[str, ...]

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        object.__setattr__(self, "names", names)

    @classmethod
    def parse(cls, text: str) -> Hostlist:
        """The list a text such as `node[00-03],login` stands for.

        Leading zeros of a bracket's first id pad all its ids. InvalidRequest quotes what is malformed, and
        refuses more than MAX_HOSTS names before making them.
        """
        names: list[str] = []
        for expression in _expressions(text):
            _expand(expression, names, text)
        return cls(tuple(names))

    @classmethod
    def of(cls, names: Iterable[str]) -> Hostlist:
        """The list of exactly these names, none of them expanded."""
        kept = tuple(names)
        for name in kept:
            if not 0 < len(name) <= MAX_NAME or not _is_name(name):
                raise InvalidRequest(f"invalid host name {_shortened(name)}")
        if len(kept) > MAX_HOSTS:
            raise InvalidRequest(f"a hostlist of {len(kept)} hosts: at most {MAX_HOSTS} are allowed")
        return cls(kept)

    def index(self, name: str) -> int:
        """The position of the first host of this name; NotFound when there is none."""
        try:
            return self.names.index(name)
        except ValueError:
            raise NotFound(f"host {name!r} is not in {_shortened(str(self))}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, position: int) -> str:
        return self.names[position]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __add__(self, other: Hostlist) -> Hostlist:
        return Hostlist(self.names + other.names)

    def __eq__(self, other: object) -> bool:
        return self.names == other.names if isinstance(other, Hostlist) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.names)

    def __str__(self) -> str:
        """Neighbours that differ in one number share a bracket; parsing the text gives this list again."""
        return ",".join(_compressed(self.names))

    def __repr__(self) -> str:
        return f"Hostlist.parse({str(self)!r})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Hostlist cannot change: {name}")

    def __reduce__(self) -> tuple[type[Hostlist], tuple[tuple[str, ...]]]:
        return Hostlist, (self.names,)


def _expressions(text: str) -> Iterator[str]:
    """The parts between commas, those inside brackets not counted. Empty parts stand for no host."""
    unclosed: list[str] = []
    for part in text.split(","):
        if unclosed or ("[" in part and "]" not in part):
            unclosed.append(part)
            if "]" in part:
                yield ",".join(unclosed)
                unclosed = []
        elif part:
            yield part
    if unclosed:
        raise _refusal(text, "a bracket is not closed")


def _expand(expression: str, names: list[str], text: str) -> None:
    prefix, bracket, rest = expression.partition("[")
    idlist, _, suffix = rest.partition("]")
    if not _is_name(prefix) or not _is_name(suffix):
        raise _refusal(text, f"{_shortened(expression)} is not of the form prefix[ids]suffix")
    if not bracket:
        _check_room(names, 1, prefix, text)
        names.append(prefix)
        return
    first = idlist.partition(",")[0].partition("-")[0]
    for part in idlist.split(","):
        low_text, hyphen, high_text = part.partition("-")
        low = _parse_id(low_text, text)
        high = _parse_id(high_text, text) if hyphen else low
        if high < low:
            raise _refusal(text, f"the range {part!r} descends")
        width = _padding(first) or _padding(low_text)
        _check_room(names, high - low + 1, f"{prefix}{high:0{width}d}{suffix}", text)
        names += [f"{prefix}{number:0{width}d}{suffix}" for number in range(low, high + 1)]


def _check_room(names: list[str], count: int, longest: str, text: str) -> None:
    if count > MAX_HOSTS - len(names):
        raise _refusal(text, f"more than {MAX_HOSTS} hosts")
    if len(longest) > MAX_NAME:
        raise _refusal(text, f"a name is longer than {MAX_NAME} characters")


def _padding(digits: str) -> int:
    """The width that leading zeros ask for, 0 without them."""
    return len(digits) if digits[0] == "0" else 0


def _compressed(names: tuple[str, ...]) -> Iterator[str]:
    position = 0
    while position < len(names):
        end, expression = _fold(names, position)
        yield expression
        position = end


def _fold(names: tuple[str, ...], start: int) -> tuple[int, str]:
    """The longest expression that begins at this name, and the position after the last name it covers."""
    first = names[start]
    split = _shared_split(first, names[start + 1]) if start + 1 < len(names) else None
    if split is None:
        return start + 1, first
    prefix, suffix = split
    first_digits = first[len(prefix) : len(first) - len(suffix)]
    width = _padding(first_digits)
    ids = [int(first_digits)]
    end = start + 1
    while end < len(names):
        number = _id_between(names[end], prefix, suffix, width)
        if number is None:
            break
        ids.append(number)
        end += 1
    return end, f"{prefix}[{_idlist_text(ids, width)}]{suffix}" if len(ids) > 1 else first


def _shared_split(one: str, other: str) -> tuple[str, str] | None:
    """What surrounds the one number in which two names differ, or the last number of equal names."""
    at = 0
    while at < len(one) and one[at : at + 1] == other[at : at + 1]:
        at += 1
    if at == len(one) == len(other):
        while at and not one[at - 1].isdigit():
            at -= 1
    while at and one[at - 1].isdigit():
        at -= 1
    suffix = one[at:].lstrip("0123456789")
    if suffix != other[at:].lstrip("0123456789"):
        return None
    digits = one[at : len(one) - len(suffix)]
    return (one[:at], suffix) if 0 < len(digits) <= _MAX_DIGITS else None


def _id_between(name: str, prefix: str, suffix: str, width: int) -> int | None:
    """The number that would print as this name inside a bracket of that width."""
    if not (name.startswith(prefix) and name.endswith(suffix)):
        return None
    digits = name[len(prefix) : len(name) - len(suffix)]
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return None
    number = int(digits)
    return number if f"{number:0{width}d}" == digits else None


def _idlist_text(ids: list[int], width: int) -> str:
    parts: list[str] = []
    low = high = ids[0]
    for number in [*ids[1:], -1]:
        if number == high + 1:
            high = number
            continue
        parts.append(f"{low:0{width}d}-{high:0{width}d}" if low < high else f"{low:0{width}d}")
        low = high = number
    return ",".join(parts)


def _parse_id(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MAX_DIGITS:
        raise _refusal(text, f"{_shortened(digits)} is not an id" if digits else "an id is missing")
    return int(digits)


def _is_name(text: str) -> bool:
    """Whether only characters allowed in names occur, possibly none."""
    return text.isascii() and text.isprintable() and not any(letter in text for letter in " ,[]")


def _refusal(text: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid hostlist {_shortened(text)}: {why}")


def _shortened(text: str) -> str:
    """Quoted for an error text, cut where nobody reads on."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
