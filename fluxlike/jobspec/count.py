"""Counts of RFC 14: a number, a range as map or as text (RFC 45), or a list of numbers as text (RFC 22)."""

from __future__ import annotations

from typing import Any, NoReturn

from fluxlike.errors import InvalidRequest
from fluxlike.idset import Idset
from fluxlike.jobspec import fields
from fluxlike.jobspec.model import Count

MAX_COUNT = 2**53 - 1
"""Bytes of memory are counted too, so it is large; and every JSON reader holds it exactly."""

_RANGE_KEYS = ("min", "max", "operator", "operand")
_OPERATORS = ("+", "*", "^")


def parse_count(value: object, path: str) -> Count:
    if type(value) is int and 0 < value <= MAX_COUNT:
        return Count(value, value)
    if isinstance(value, dict):
        return _from_map(value, path)
    if isinstance(value, str):
        return _from_text(value, path)
    if type(value) is not int:
        fields.refuse(f"must be a positive integer, a range or a list of numbers, not {fields.shown(value)}", path)
    return Count.exactly(fields.positive(value, path, MAX_COUNT))


def _from_map(body: dict[str, Any], path: str) -> Count:
    fields.known_keys(body, _RANGE_KEYS, path)
    if "min" not in body:
        fields.refuse("is missing", f"{path}.min")
    low = fields.positive(body["min"], f"{path}.min", MAX_COUNT)
    high = fields.positive(body["max"], f"{path}.max", MAX_COUNT) if "max" in body else None
    if ("operator" in body) != ("operand" in body):
        missing = "operand" if "operator" in body else "operator"
        fields.refuse("is missing: operator and operand go together", f"{path}.{missing}")
    operator, operand = body.get("operator", "+"), body.get("operand", 1)
    if operator not in _OPERATORS:
        fields.refuse(f"must be one of {' '.join(_OPERATORS)}, not {fields.shown(operator)}", f"{path}.operator")
    fields.positive(operand, f"{path}.operand", MAX_COUNT)
    if high is not None and high < low:
        fields.refuse(f"must not be below min ({low}), but is {high}", f"{path}.max")
    return _stepping(low, high, operator, operand, path)


def _stepping(low: int, high: int | None, operator: str, operand: int, path: str) -> Count:
    """Refuses a step that would stand still."""
    if operator != "+" and operand < 2:
        fields.refuse(f"must be 2 or more with operator {operator}", f"{path}.operand")
    if operator == "^" and low < 2:
        fields.refuse("must be 2 or more with operator ^", f"{path}.min")
    return Count(low, high, operator, operand) if low != high else Count.exactly(low)


def _from_text(text: str, path: str) -> Count:
    body = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if "," in body:
        return _from_list(text, path)
    span, *step = body.split(":")
    low, hyphen, high = span.removesuffix("+").partition("-")
    open_ended = span.endswith("+")
    if len(step) > 2 or (open_ended and hyphen) or (step and not hyphen and not open_ended):
        _refuse_text(text, path)
    first = _number(low, text, path)
    last = _number(high, text, path) if hyphen else None if open_ended else first
    if last is not None and last < first:
        fields.refuse(f"the range {fields.shown(text)} ends before it begins", path)
    operator = step[1] if len(step) == 2 else "+"
    if operator not in _OPERATORS:
        _refuse_text(text, path)
    return _stepping(first, last, operator, _number(step[0], text, path) if step else 1, path)


def _from_list(text: str, path: str) -> Count:
    try:
        ids = Idset.parse(text)
    except InvalidRequest as error:
        fields.refuse(str(error), path)
    if 0 in ids:
        fields.refuse(f"must be positive throughout, {fields.shown(text)} holds 0", path)
    low, high = ids.first(), ids.last()
    return Count(low, high, ids=None if len(ids) == high - low + 1 else ids)


def _number(digits: str, text: str, path: str) -> int:
    if not (digits.isascii() and digits.isdigit()) or digits[0] == "0" or len(digits) > len(str(MAX_COUNT)):
        _refuse_text(text, path)
    return fields.positive(int(digits), path, MAX_COUNT)


def _refuse_text(text: str, path: str) -> NoReturn:
    fields.refuse(f"must be a number, a range (3-30, 4+, 1-64:2:*) or a list (4,9,16), not {fields.shown(text)}", path)
