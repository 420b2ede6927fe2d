"""Environment rules: which variables a job gets, and with which values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click

from fluxlike_cli.options.declare import option, together, typed_order

PER_TASK = ("FLUX_JOB_", "FLUX_TASK_", "PMI_")
"""Set anew for each task; inherited from a job that submits another, they would name the wrong one."""

_NESTING = 16
"""Rule files may name rule files; a circle ends here."""


_PREFIXES = {"env": "", "env_remove": "-", "env_file": "^"}

environment_options = together(
    option("--env", multiple=True, metavar="RULE",
           help="NAME=VALUE sets, NAME or a pattern copies, -PATTERN removes, ^FILE reads rules."),
    option("--env-remove", multiple=True, metavar="PATTERN", help="Remove what matches: --env=-PATTERN."),
    option("--env-file", multiple=True, metavar="FILE", help="Read rules from a file: --env=^FILE."),
)  # fmt: skip


def rules_of(ctx: click.Context) -> list[str]:
    """The rules of all three options, in the order they were typed."""
    values = {name: iter(ctx.params[name]) for name in _PREFIXES}
    return [_PREFIXES[name] + next(values[name]) for name in typed_order(ctx) if name in _PREFIXES]


def environment(rules: Iterable[str], current: Mapping[str, str]) -> dict[str, str]:
    """The job's environment: a copy of `current` without what belongs to a task, then changed rule by rule.

    `-PATTERN` removes (a shell pattern, or `/regex/`), `NAME=VALUE` sets ($NAME and ${NAME} are replaced,
    $$ is a dollar), `^FILE` reads further rules, and anything else copies what matches from `current` if it
    was removed before. A bad rule is a usage error."""
    made = {name: value for name, value in current.items() if not name.startswith(PER_TASK)}
    for rule in rules:
        _apply(rule, made, current, 0)
    return made


def _apply(rule: str, made: dict[str, str], current: Mapping[str, str], depth: int) -> None:
    if rule.startswith("-"):
        for name in filter(_matcher(rule[1:]), list(made)):
            del made[name]
    elif rule.startswith("^"):
        for line in _read_rules(rule[1:], depth):
            _apply(line, made, current, depth + 1)
    elif "=" in rule:
        name, _, value = rule.partition("=")
        if not name:
            raise click.UsageError(f"--env: {rule!r} names no variable")
        made[name] = _expand(value, {**current, **made}, rule) if "$" in value else value
    else:
        for name in filter(_matcher(rule), current):
            made.setdefault(name, current[name])


def _matcher(pattern: str) -> Callable[[str], bool]:
    if not pattern:
        raise click.UsageError("--env: empty pattern")
    if not any(sign in pattern for sign in "*?[/"):
        return lambda name: name == pattern
    import re
    from fnmatch import translate

    regex = pattern[1:].removesuffix("/") if pattern.startswith("/") else translate(pattern)
    try:
        compiled = re.compile(regex)
    except re.error as error:
        raise click.UsageError(f"--env: {pattern!r} is not a regular expression: {error}") from None
    found = compiled.search if pattern.startswith("/") else compiled.match
    return lambda name: found(name) is not None


def _expand(value: str, known: Mapping[str, str], rule: str) -> str:
    from string import Template

    try:
        return Template(value).substitute(known)
    except KeyError as error:
        raise click.UsageError(f"--env: {rule!r}: variable {error.args[0]} is not set") from None
    except ValueError:
        raise click.UsageError(f"--env: {rule!r}: a lone $ must be written $$") from None


def _read_rules(path: str, depth: int) -> list[str]:
    from os.path import expanduser

    if depth >= _NESTING:
        raise click.UsageError(f"--env: rule files nested deeper than {_NESTING}, the last is {path}")
    try:
        with open(expanduser(path), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--env: cannot read {path}: {error}") from None
    return [line for line in lines if line and not line.startswith("#")]
