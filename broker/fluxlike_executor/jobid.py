"""Job ids as text (RFC 19): base 58 behind a letter, hexadecimal, dotted hexadecimal."""

from __future__ import annotations

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(number: int) -> str:
    digits = ""
    while True:
        number, rest = divmod(number, 58)
        digits = ALPHABET[rest] + digits
        if not number:
            return digits


def f58(number: int) -> str:
    return "ƒ" + base58(number)


def dothex(number: int) -> str:
    text = f"{number:016x}"
    return ".".join(text[at : at + 4] for at in range(0, 16, 4))


def tick_of(number: int) -> int:
    """Timestamp and sequence of an id as one number: ids that were taken together count up by one."""
    return number >> 24 << 10 | number & 1023
