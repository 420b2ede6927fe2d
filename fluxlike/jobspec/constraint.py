"""Constraints (RFC 31): which nodes a job may run on. Only their form is checked here."""

from __future__ import annotations

from collections.abc import Callable

from fluxlike.errors import InvalidRequest
from fluxlike.idset import parse_mask
from fluxlike.jobspec import fields

_FORBIDDEN = frozenset("!&'\"^`|()")


def check_constraints(value: object, path: str) -> None:
    body = fields.mapping(value, path)
    fields.freeform(body, path)  # bounds depth and size for the walk below
    _check(body, path)


def _check(value: object, path: str) -> None:
    for operator, operands in fields.mapping(value, path).items():
        check = _OPERATORS.get(operator)
        place = fields.member(path, operator)
        if check is None:
            fields.refuse(f"unknown operator {fields.shown(operator)}: {fields.nearest(operator, _OPERATORS)}", place)
        if not isinstance(operands, (list, tuple)):
            fields.refuse(f"must be a list, not {fields.shown(operands)}", place)
        for index, operand in enumerate(operands):
            check(operand, f"{place}[{index}]")


def _check_property(value: object, path: str) -> None:
    property_ = fields.name(value, path).removeprefix("^")
    if not property_ or not _FORBIDDEN.isdisjoint(property_):
        fields.refuse(f"is no property name: {fields.shown(value)}", path)


def _check_ranks(value: object, path: str) -> None:
    try:
        parse_mask(fields.string(value, path))
    except InvalidRequest as error:
        fields.refuse(str(error), path)


def _check_hosts(value: object, path: str) -> None:
    fields.name(value, path)


_OPERATORS: dict[str, Callable[[object, str], None]] = {
    "and": _check,
    "hostlist": _check_hosts,
    "not": _check,
    "or": _check,
    "properties": _check_property,
    "ranks": _check_ranks,
}
