"""Job ids (RFC 19): 64-bit FLUIDs made without asking anybody, and the ways people write them."""

from __future__ import annotations

from fluxlike.errors import InvalidRequest, Unavailable

# Not taken from typing: importing it costs more than all of our own modules together.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH = 1_672_531_200_000
"""Where the ids' time begins: 2023-01-01T00:00Z, in Unix milliseconds. 40 bits last until November 2057."""

MAX_ID = (1 << 64) - 1
MAX_GENERATOR = (1 << 14) - 1

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_F58_LENGTH = 11  # base58 digits of the largest id
_LAST_TICK = (1 << 50) - 1


class FluidGenerator:
    """Makes ids that only grow: 40 bits of milliseconds, 14 of generator, 10 of sequence.

    `clock_ms` gives Unix milliseconds. When it steps back, or more than 1024 ids are taken in one
    millisecond, the ids run ahead of the clock instead of repeating. After a restart, call `advance` with
    the largest stored id.
    """

    __slots__ = ("_clock_ms", "_generator", "_tick")

    def __init__(self, clock_ms: Callable[[], int], generator: int) -> None:
        if not 0 <= generator <= MAX_GENERATOR:
            raise ValueError(f"generator {generator} is not between 0 and {MAX_GENERATOR}")
        self._clock_ms = clock_ms
        self._generator = generator << 10
        # Timestamp and sequence as one number: adding one carries over the end of a millisecond by itself.
        self._tick = -1

    def next(self) -> int:
        tick = self._take(1)
        return tick >> 10 << 24 | self._generator | tick & 1023

    def next_many(self, count: int, reserve: int = 0) -> list[int]:
        """`count` ascending ids for one reading of the clock; the `reserve` ids after them are given to nobody."""
        first = self._take(count + reserve)
        generator = self._generator
        return [tick >> 10 << 24 | generator | tick & 1023 for tick in range(first, first + count)]

    def advance(self, job_id: int) -> None:
        """Promise that every later id is greater than this one, whichever generator made it."""
        self._tick = max(self._tick, timestamp(job_id) << 10 | 1023)

    def _take(self, count: int) -> int:
        first = max(self._tick + 1, (self._clock_ms() - EPOCH) << 10)
        last = first + count - 1
        if last > _LAST_TICK:
            raise Unavailable("no job ids left: the clock or a stored id has reached the end of time (2057)")
        self._tick = max(self._tick, last)
        return first


def tick_of(job_id: int) -> int:
    """Timestamp and sequence as one number: ids that were taken together count up by one."""
    return job_id >> 24 << 10 | job_id & 1023


def following(first: int, count: int) -> list[int]:
    """The ids that `next_many` gave when the first of them was this one."""
    generator = first & MAX_GENERATOR << 10
    tick = tick_of(first)
    return [at >> 10 << 24 | generator | at & 1023 for at in range(tick, tick + count)]


def nth_after(first: int, distance: int) -> int:
    """The id so many steps after this one, of those that were taken together."""
    at = tick_of(first) + distance
    return at >> 10 << 24 | first & MAX_GENERATOR << 10 | at & 1023


def timestamp(job_id: int) -> int:
    """Milliseconds after EPOCH at which the id was made."""
    return job_id >> 24


def encode_f58(job_id: int) -> str:
    """The usual way to show an id: `ƒ` and base58."""
    return "ƒ" + _base58(job_id)


def encode(job_id: int, kind: str) -> str:
    """The id as `f58`, `f58plain` (ASCII `f` in front), `dec`, `hex` or `dothex`."""
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise InvalidRequest(f"unknown id encoding {kind!r}: one of {', '.join(_ENCODERS)}")
    return encoder(job_id)


def decode(text: str) -> int:
    """The id a text names in any supported encoding, whitespace around it ignored.

    The order of these rules is RFC 19's. InvalidRequest quotes a text that is no id.
    """
    word = text.strip()
    if "." in word:
        value = _decode_dothex(word)
    elif "-" in word:
        raise _refusal(text, "ids written as words are not supported")
    elif word[:1] in ("ƒ", "f"):
        value = _decode_base58(word[1:])
    elif "\U0001f000" <= word[:1] <= "\U0001ffff":
        raise _refusal(text, "ids written as emoji are not supported")
    elif word[:2] == "0x":
        value = _decode_hex(word[2:], 16)
    else:
        value = int(word) if word.isascii() and word.isdigit() and len(word) <= 20 else -1
    if not 0 <= value <= MAX_ID:
        raise _refusal(text, "not a 64-bit id in F58 (ƒ...), decimal, hex (0x...) or dotted hex")
    return value


def _base58(number: int) -> str:
    digits = []
    while number >= 58:
        number, digit = divmod(number, 58)
        digits.append(_ALPHABET[digit])
    digits.append(_ALPHABET[number])
    digits.reverse()
    return "".join(digits)


def _dothex(job_id: int) -> str:
    digits = f"{job_id:016x}"
    return f"{digits[:4]}.{digits[4:8]}.{digits[8:12]}.{digits[12:]}"


_ENCODERS: dict[str, Callable[[int], str]] = {
    "f58": encode_f58,
    "f58plain": lambda job_id: "f" + _base58(job_id),
    "dec": str,
    "hex": hex,
    "dothex": _dothex,
}


def _decode_base58(digits: str) -> int:
    """The number, or -1 for what is none."""
    if not 0 < len(digits) <= _F58_LENGTH:
        return -1
    number = 0
    for letter in digits:
        value = _VALUES.get(letter)
        if value is None:
            return -1
        number = number * 58 + value
    return number


def _decode_dothex(word: str) -> int:
    groups = word.split(".")
    if len(groups) != 4 or any(len(group) != 4 for group in groups):
        return -1
    return _decode_hex("".join(groups), 16)


def _decode_hex(digits: str, longest: int) -> int:
    if not 0 < len(digits) <= longest or not _HEX_DIGITS.issuperset(digits):
        return -1
    return int(digits, 16)


def _refusal(text: str, why: str) -> InvalidRequest:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return InvalidRequest(f"invalid job id {shown!r}: {why}")
