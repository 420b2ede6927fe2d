"""Dependencies (RFC 26): `SCHEME:VALUE[?key=value&...]` on the command line, an object in the jobspec."""

from __future__ import annotations

from typing import Any

from fluxlike.errors import InvalidJobspec, InvalidRequest
from fluxlike.ids import decode
from fluxlike.jobspec import fields

JOB_SCHEMES = frozenset({"afterany", "afterexcept", "afternotok", "afterok", "afterstart"})
"""Their value is the id of the job that is waited for."""

BEGIN_TIME = "begin-time"

SCHEMES = JOB_SCHEMES | {BEGIN_TIME}

_ALIASES = {"after": "afterstart"}


def parse(text: str) -> dict[str, Any]:
    """The object of RFC 26 for a dependency as people type it. InvalidRequest quotes what is wrong."""
    scheme, colon, rest = text.partition(":")
    value, question, query = rest.partition("?")
    if not colon or not value:
        raise InvalidRequest(
            f"invalid dependency {fields.shown(text)}: must be SCHEME:VALUE, such as afterok:ƒuZZybuNNy"
        )
    entry: dict[str, Any] = {"scheme": scheme, "value": _unquoted(value)}
    if question:
        _add_options(entry, query, text)
    try:
        return check(entry, "")
    except InvalidJobspec as error:
        raise InvalidRequest(f"invalid dependency {fields.shown(text)}: {error}") from error


def to_text(entry: dict[str, Any]) -> str:
    """The compact form of an object; `parse` reads it back when all options are strings."""
    options = [f"{_quoted(key)}={_quoted(str(entry[key]))}" for key in entry if key not in ("scheme", "value")]
    return f"{entry['scheme']}:{_quoted(entry['value'])}{'?' if options else ''}{'&'.join(options)}"


def check(entry: object, path: str) -> dict[str, Any]:
    """The object itself, or a copy with today's name where its scheme goes by an old one."""
    body = fields.mapping(entry, path)
    dot = f"{path}." if path else ""
    for key in ("scheme", "value"):
        if key not in body:
            fields.refuse("is missing", dot + key)
    scheme = fields.string(body["scheme"], f"{dot}scheme")
    if scheme in _ALIASES:
        body = {**body, "scheme": _ALIASES[scheme]}
    elif scheme not in SCHEMES:
        fields.refuse(f"unknown scheme {fields.shown(scheme)}: {fields.nearest(scheme, SCHEMES)}", f"{dot}scheme")
    value = fields.string(body["value"], f"{dot}value")
    try:
        _ = begin_time(body) if scheme == BEGIN_TIME else decode(value)
    except InvalidRequest as error:
        fields.refuse(str(error), f"{dot}value")
    if len(body) > 2:
        fields.freeform(body, path)
    return body


def check_all(value: object, path: str) -> list[dict[str, Any]]:
    """The list itself when nothing in it had to be renamed."""
    if not isinstance(value, (list, tuple)):
        fields.refuse(f"must be a list, not {fields.shown(value)}", path)
    checked = [check(entry, f"{path}[{index}]") for index, entry in enumerate(value)]
    same = isinstance(value, list) and all(new is old for new, old in zip(checked, value, strict=True))
    return value if same else checked  # type: ignore[return-value]  # a list whose entries were just checked


def job_id(entry: dict[str, Any]) -> int:
    """The job that an `after*` dependency waits for."""
    return decode(entry["value"])


def begin_time(entry: dict[str, Any]) -> float:
    """Seconds since 1970 from which a `begin-time` dependency is met."""
    value: str = entry["value"]
    try:
        when = float(value)
    except ValueError:
        when = -1.0
    if not 0.0 <= when < 1e15:  # false for NaN too
        raise InvalidRequest(f"invalid begin-time {fields.shown(value)}: must be seconds since 1970")
    return when


def _add_options(entry: dict[str, Any], query: str, text: str) -> None:
    for option in query.replace(";", "&").split("&"):
        key, equals, value = option.partition("=")
        key = _unquoted(key)
        if not equals or not key or key in entry:
            why = "is given twice" if key in entry else "must be key=value"
            raise InvalidRequest(f"invalid dependency {fields.shown(text)}: option {fields.shown(option)} {why}")
        entry[key] = _unquoted(value)


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # hardly ever needed, and slow to import

    return unquote(text)


def _quoted(text: str) -> str:
    if not any(mark in text for mark in "%?&;="):
        return text
    from urllib.parse import quote

    return quote(text, safe=" /:,+@")
