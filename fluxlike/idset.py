"""Idsets (RFC 22): sets of small non-negative integers, written like `0-3,7`, kept as a bit mask."""

from __future__ import annotations

from fluxlike.errors import InvalidRequest

# Not taken from typing: importing it costs more than all of our own modules together.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ID = (1 << 22) - 1
"""Largest id accepted. A mask costs one bit per id up to its largest, so this bounds a set to 512 KiB."""

# Or-ing runs one by one copies the whole mask each time: fine for a few, quadratic for a million.
_FEW_RUNS = 64


def parse_mask(text: str, largest: int = MAX_ID) -> int:
    """The bit mask of an idset text. Empty text (or `[]`) is the empty set.

    InvalidRequest refuses all but ascending decimal ids without leading zeros, and any id above `largest`.
    """
    body = text[1:-1] if text[:1] == "[" and text[-1:] == "]" and len(text) > 1 else text
    if not body:
        return 0
    runs: list[tuple[int, int]] = []
    previous = -1
    for part in body.split(","):
        low_text, hyphen, high_text = part.partition("-")
        low = _parse_id(low_text, text, largest)
        high = _parse_id(high_text, text, largest) if hyphen else low
        if low <= previous or high < low:
            raise _refusal(text, f"ids must ascend, {part!r} does not")
        runs.append((low, high))
        previous = high
    return _mask_of_runs(runs)


def mask_text(mask: int) -> str:
    """The canonical idset text of a mask: ascending, ranges folded, no brackets; `""` for the empty set."""
    if not mask:
        return ""
    lowest = mask & -mask
    if not mask & (mask + lowest):  # a single run, which is what most core sets are
        return _run_text(lowest.bit_length() - 1, mask.bit_length() - 1)
    return ",".join([_run_text(low, high) for low, high in mask_runs(mask)])


def mask_runs(mask: int) -> Iterator[tuple[int, int]]:
    """The (first, last) pair of each run of consecutive ids, ascending; time linear in the largest id."""
    bits = bin(mask)[:1:-1] + "0"
    start = bits.find("1")
    while start >= 0:
        end = bits.find("0", start)
        yield start, end - 1
        start = bits.find("1", end)


class Idset:
    """An immutable set of ids, ordered when iterated. Two are equal when they hold the same ids."""

    __slots__ = ("mask",)
    mask: int

    def __init__(self, mask: int = 0) -> None:
        if mask < 0:
            raise ValueError("an idset mask cannot be negative")
        object.__setattr__(self, "mask", mask)

    @classmethod
    def parse(cls, text: str) -> Idset:
        """The set a text such as `0-3,7` or `[0-3,7]` names; InvalidRequest quotes a text that names none."""
        return cls(parse_mask(text))

    @classmethod
    def of(cls, ids: Iterable[int]) -> Idset:
        """The set of these ids, in any order, repeats allowed."""
        ordered = sorted(ids)
        if not ordered:
            return cls()
        if ordered[0] < 0 or ordered[-1] > MAX_ID:
            wrong = ordered[0] if ordered[0] < 0 else ordered[-1]
            raise InvalidRequest(f"invalid idset: {wrong} is not between 0 and {MAX_ID}")
        return cls(_mask_of_runs(_fold(ordered)))

    @classmethod
    def from_mask(cls, mask: int) -> Idset:
        """The set whose ids are the positions of the one bits."""
        return cls(mask)

    @property
    def count(self) -> int:
        return self.mask.bit_count()

    def first(self) -> int:
        """The smallest id; ValueError when there is none."""
        if not self.mask:
            raise ValueError("an empty idset has no first id")
        return (self.mask & -self.mask).bit_length() - 1

    def last(self) -> int:
        """The largest id; ValueError when there is none."""
        if not self.mask:
            raise ValueError("an empty idset has no last id")
        return self.mask.bit_length() - 1

    def isdisjoint(self, other: Idset) -> bool:
        return not self.mask & other.mask

    def __contains__(self, item: object) -> bool:
        return isinstance(item, int) and item >= 0 and bool(self.mask >> item & 1)

    def __iter__(self) -> Iterator[int]:
        for low, high in mask_runs(self.mask):
            yield from range(low, high + 1)

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __or__(self, other: Idset) -> Idset:
        return Idset(self.mask | other.mask)

    def __and__(self, other: Idset) -> Idset:
        return Idset(self.mask & other.mask)

    def __sub__(self, other: Idset) -> Idset:
        return Idset(self.mask & ~other.mask)

    def __le__(self, other: Idset) -> bool:
        """Whether every id of this set is in the other."""
        return not self.mask & ~other.mask

    def __eq__(self, other: object) -> bool:
        return self.mask == other.mask if isinstance(other, Idset) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.mask)

    def __str__(self) -> str:
        return mask_text(self.mask)

    def __repr__(self) -> str:
        return f"Idset.parse({mask_text(self.mask)!r})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Idset cannot change: {name}")

    def __reduce__(self) -> tuple[type[Idset], tuple[int]]:
        return Idset, (self.mask,)


def _run_text(low: int, high: int) -> str:
    return f"{low}-{high}" if low < high else str(low)


def _parse_id(digits: str, text: str, largest: int) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise _refusal(text, f"{_shortened(digits)} is not an id" if digits else "an id is missing")
    if digits[0] == "0" and digits != "0":
        raise _refusal(text, f"{_shortened(digits)} has a leading zero")
    if len(digits) > len(str(largest)) or int(digits) > largest:
        raise _refusal(text, f"{_shortened(digits)} is larger than {largest}")
    return int(digits)


def _mask_of_runs(runs: list[tuple[int, int]]) -> int:
    """The mask of ascending runs that do not overlap."""
    if len(runs) <= _FEW_RUNS:
        mask = 0
        for low, high in runs:
            mask |= ((1 << (high - low + 1)) - 1) << low
        return mask
    pieces: list[str] = []
    position = 0
    for low, high in runs:
        pieces += ("0" * (low - position), "1" * (high - low + 1))
        position = high + 1
    return int("".join(pieces)[::-1], 2)


def _fold(ordered: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start = end = ordered[0]
    for item in ordered:
        if item > end + 1:
            runs.append((start, end))
            start = item
        end = item
    runs.append((start, end))
    return runs


def _refusal(text: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid idset {_shortened(text)}: {why}")


def _shortened(text: str) -> str:
    """Quoted for an error text, cut where nobody reads on."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
