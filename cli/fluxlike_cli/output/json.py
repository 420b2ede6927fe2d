"""JSON for other programs. Who prints ids makes them F58 text: as numbers, JavaScript and jq would round them."""

from __future__ import annotations

import click


def print_json(obj: object, *, compact: bool = False) -> None:
    """`obj` on standard output, indented for people or on one line with `compact`."""
    click.echo(format_json(obj, compact=compact))


def format_json(obj: object, *, compact: bool = False) -> str:
    import json

    if compact:
        return json.dumps(obj, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return json.dumps(obj, ensure_ascii=False, indent=2, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
