"""Many tasks as one job: `--array`, and where their values come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fluxlike_cli.options.declare import option, together

array_options = together(
    option("--array", metavar="N|IDSET", help="One job of N tasks, or of a task for each index; {cc} holds the index."),
    option(
        "--each-line", metavar="FILE", help="A task for each line, which {cc} holds; --array chooses lines, from 0."
    ),
    option("--from-json", metavar="FILE", help="A task for each element of a JSON list, as text in {cc}."),
    option("--max-running", type=click.IntRange(min=0), default=0, metavar="N", help="Of an array: tasks at once."),
    option("--max-fails", type=click.IntRange(min=0), metavar="N", help="Of an array: more failures cancel the rest."),
)


class ArrayPlan:
    """How many tasks, and their values; None: each has its index."""

    __slots__ = ("count", "values")

    def __init__(self, count: int, values: list[str] | None) -> None:
        self.count = count
        self.values = values


def array_plan(ctx: click.Context) -> ArrayPlan | None:
    """What the options ask for; None for ordinary jobs. A usage error if they make no sense."""
    given = ctx.params
    sources = [name for name in ("each_line", "from_json") if given[name]]
    if not sources and given["array"] is None:
        for name in ("max_running", "max_fails"):
            if given[name]:
                raise click.UsageError(
                    f"--{name.replace('_', '-')} is for arrays: give --array, --each-line or --from-json"
                )
        return None
    if len(sources) > 1:
        raise click.UsageError("give --each-line or --from-json, not both", ctx)
    if given["cc"] is not None or given["bcc"] is not None:
        raise click.UsageError("an array is one job; --cc and --bcc make many: give one of them", ctx)
    values = _values(sources[0], given[sources[0]]) if sources else None
    return _chosen(given["array"], values)


def _chosen(text: str | None, values: list[str] | None) -> ArrayPlan:
    if text is None:
        assert values is not None
        if not values:
            raise click.UsageError("there is no value, so the array would have no task")
        return ArrayPlan(len(values), values)
    indices = _indices(text)
    if values is not None:
        if indices[-1] >= len(values):
            raise click.UsageError(f"--array names index {indices[-1]}, and there are {len(values)} values (from 0 on)")
        return ArrayPlan(len(indices), [values[index] for index in indices])
    plain = indices[0] == 0 and indices[-1] == len(indices) - 1
    return ArrayPlan(len(indices), None if plain else list(map(str, indices)))


def _indices(text: str) -> Sequence[int]:
    """A number alone is how many."""
    from fluxlike.errors import InvalidRequest
    from fluxlike.idset import Idset

    if text.isdecimal():
        if not int(text):
            raise click.UsageError("--array: an array needs at least one task")
        return range(int(text))
    try:
        found = list(Idset.parse(text))
    except InvalidRequest as error:
        raise click.UsageError(f"--array: {error}") from None
    if not found:
        raise click.UsageError("--array: names no index")
    return found


def _values(kind: str, path: str) -> list[str]:
    with click.open_file(path, encoding="utf-8") as file:
        try:
            return [line.removesuffix("\n") for line in file] if kind == "each_line" else _elements(file.read(), path)
        except UnicodeDecodeError as error:
            raise click.UsageError(f"{path}: not UTF-8 text ({error.reason})") from None


def _elements(text: str, path: str) -> list[str]:
    import json

    try:
        document: Any = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{path}: no JSON: {error}") from None
    if not isinstance(document, list):
        raise click.UsageError(f"{path}: must be a list, one element for each task")
    return [
        item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, separators=(",", ":"))
        for item in document
    ]
