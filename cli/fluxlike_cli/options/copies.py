"""Many jobs of one command line: `--cc` and `--bcc`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click

from fluxlike_cli.options.declare import option, together
from fluxlike_cli.options.values import copy_ids

TAG = "{cc}"

Instance = tuple[dict[str, Any], str | None]
"""A jobspec, and the value of `{cc}` in it."""

copy_options = together(
    option("--cc", type=copy_ids, metavar="IDSET", help="One job for each number; {cc} and FLUX_JOB_CC hold it."),
    option("--bcc", type=copy_ids, metavar="IDSET", help="As --cc, without FLUX_JOB_CC."),
)


def specs(spec: dict[str, Any], values: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A jobspec for each value, `{cc}` replaced where an executor does it: command, environment, files."""
    return (filled(spec, lambda text, value=value: text.replace(TAG, value)) for value in values)  # type: ignore[misc]  # mypy cannot infer a lambda's default


def filled(
    spec: dict[str, Any], replace: Callable[[str], str], variables: Iterable[str] | None = None
) -> dict[str, Any]:
    """A jobspec like this one with other texts in its command, its environment (or only in `variables` of it) and
    its options of the shell. What stays the same is shared."""
    task = spec["tasks"][0]
    system = spec["attributes"]["system"]
    environment = system.get("environment", {})
    names = environment if variables is None else [name for name in variables if name in environment]
    changed = {
        "environment": {**environment, **{name: replace(environment[name]) for name in names}},
        "shell": _replaced(system.get("shell", {}), replace),
    }
    if not names:
        del changed["environment"]
    return {
        **spec,
        "tasks": [{**task, "command": _replaced(task["command"], replace)}],
        "attributes": {**spec["attributes"], "system": {**system, **changed}},
    }


def _replaced(tree: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(tree, str):
        return replace(tree) if "{" in tree else tree
    if isinstance(tree, dict):
        return {key: _replaced(item, replace) for key, item in tree.items()}
    if isinstance(tree, list):
        return [_replaced(item, replace) for item in tree]
    return tree


def copies(spec: dict[str, Any], cc: Sequence[str] | None, bcc: Sequence[str] | None) -> Iterator[Instance]:
    """The jobs of one jobspec: one, or one for each value."""
    if cc is not None:
        return ((spec, value) for value in cc)
    # The instance gives every job with a cc value the variable, so these go out with the value filled in.
    return ((copy, None) for copy in specs(spec, bcc)) if bcc is not None else iter([(spec, None)])


def check_copies(ctx: click.Context) -> None:
    if ctx.params["cc"] is not None and ctx.params["bcc"] is not None:
        raise click.UsageError("give --cc or --bcc, not both", ctx)
