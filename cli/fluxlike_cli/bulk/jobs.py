"""From inputs to jobs: the command line is read once, and each input fills in what it leaves open."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from fluxlike.errors import InvalidRequest
from fluxlike_cli.bulk.inputs import Inputs
from fluxlike_cli.bulk.replacement import Replacement, tags
from fluxlike_cli.options.copies import TAG, Instance, copies, filled
from fluxlike_cli.options.declare import typed_values
from fluxlike_cli.options.submission import Submission

TEXTS = frozenset({"job_name", "output", "error", "input_", "setopt", "env"})
"""Options that end up in the jobspec as the text they are; a tag in any other means a jobspec of its own."""

TYPED = frozenset({
    "nodes", "ntasks", "cores_per_task", "gpus_per_task", "time_limit", "queue", "cwd", "dependency", "begin_time",
    "setattr",
})  # fmt: skip

NOT_OF_SUBMIT = frozenset({"command", "define", "shuffle", "sep", "dry_run"})

KEPT = 256
"""Jobspecs that are kept for the next input with the same options."""


class Open(str):
    """The value of an option with a tag in it: read once the tag is filled in."""

    __slots__ = ()


if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # a generic for checkers only, and not in all versions


class LateType(ParamType):
    """The type of an option that may hold tags."""

    name = "text"

    def __init__(self, inner: ParamType) -> None:
        self.inner = inner

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and tags(value):
            return Open(value)
        return self.inner.convert(value, param, ctx)


def late(command: click.Command) -> None:
    """Let the options of the command that describe a job hold tags."""
    for param in command.params:
        if param.name in TEXTS | TYPED:
            param.type = LateType(param.type)


class BulkJobs:
    """Makes the jobs of a command line."""

    def __init__(self, ctx: click.Context, command: Sequence[str], replace: Replacement) -> None:
        self._ctx = ctx
        self._command = list(command) or None
        self._replace = replace
        self._options = {param.name: param for param in ctx.command.params if isinstance(param.type, LateType)}
        self._open = {name: ctx.params[name] for name in self._options if name not in TEXTS and _is_open(ctx, name)}
        self._variables = [rule.partition("=")[0] for rule in ctx.params["env"] if tags(rule.partition("=")[2])]
        self._specs: dict[tuple[Any, ...], Submission] = {}

    def instances(self, inputs: Iterable[Inputs]) -> Iterator[Instance]:
        """A jobspec for each input, or one for each copy of it."""
        cc, bcc = self._ctx.params["cc"], self._ctx.params["bcc"]
        only = self._only_tag() if cc is None and bcc is None else None
        if only is not None:
            yield from self._of_one_spec(only, inputs)
            return
        for number, values in enumerate(inputs):
            yield from copies(self._spec(values, number), cc, bcc)

    def command_lines(self, inputs: Iterable[Inputs]) -> Iterator[str]:
        """What `submit` would have to be told, for people."""
        for number, values in enumerate(inputs):
            options = [self._replace(text, values, number) for text in self._typed_options()]
            yield shlex.join(["fluxlike", "submit", *options, *self._words(values, number)])

    def _typed_options(self) -> Iterator[str]:
        """Options of the command line that `submit` has as well."""
        typed = typed_values(self._ctx)
        for param in self._ctx.command.params:
            if param.name not in typed or param.name in NOT_OF_SUBMIT:
                continue
            for value in typed[param.name] if param.multiple else [typed[param.name]]:
                yield param.opts[-1] if value is True else f"{param.opts[-1]}={value}"

    def _only_tag(self) -> str | None:
        """The tag, if there is one alone and the instance can fill it in: then the jobs share one jobspec."""
        if self._open or self._command is None or tags(self._command[0]) or tags(self._ctx.params["cwd"]):
            return None
        texts = [*self._command, *_flat(self._ctx.params[name] for name in TEXTS)]
        found = {tag for text in texts for tag in tags(text)}
        taken = any(TAG in text for text in texts)
        return found.pop() if len(found) == 1 and not taken else None

    def _of_one_spec(self, tag: str, inputs: Iterable[Inputs]) -> Iterator[Instance]:
        spec = self._build((), (), 0).spec
        template = filled(spec, lambda text: text.replace(tag, TAG), self._variables)
        _rename(template, _name(template).replace(tag, TAG))
        for number, values in enumerate(inputs):
            yield template, self._replace(tag, values, number)

    def _spec(self, values: Inputs, number: int) -> dict[str, Any]:
        key = tuple(text for _, text in self._filled_options(values, number))
        job = self._specs.get(key)
        if job is None:
            if len(self._specs) >= KEPT:
                self._specs.clear()
            job = self._specs[key] = self._build(key, values, number)
        fill = self._filling(values, number)
        spec = filled(job.spec, fill, self._variables)
        words = spec["tasks"][0]["command"] = self._words(values, number)
        named = self._command is not None and not tags(self._command[0])
        _rename(spec, fill(_name(spec)) if named or self._ctx.params["job_name"] else os.path.basename(words[0]))
        system = spec["attributes"]["system"]
        system["cwd"] = fill(system["cwd"])
        return spec

    def _build(self, key: tuple[Any, ...], values: Inputs, number: int) -> Submission:
        given = dict(self._ctx.params)
        for name, text in self._filled_options(values, number) if key else ():
            given[name] = self._typed(name, text)
        return Submission(self._ctx, self._command or [""], given["input_"], given)

    def _typed(self, name: str, text: Any) -> Any:
        param = self._options[name]
        assert isinstance(param.type, LateType)
        inner = param.type.inner
        try:
            if isinstance(text, tuple):
                return tuple(inner.convert(each, param, self._ctx) for each in text)
            return inner.convert(text, param, self._ctx)
        except click.BadParameter as error:
            raise InvalidRequest(f"--{name.replace('_', '-')}: {error.message}") from None

    def _filled_options(self, values: Inputs, number: int) -> Iterator[tuple[str, Any]]:
        """The options whose tags decide what jobspec it is, filled in."""
        fill = self._filling(values, number)
        for name, value in self._open.items():
            yield name, tuple(map(fill, value)) if isinstance(value, tuple) else fill(value)

    def _words(self, values: Inputs, number: int) -> list[str]:
        if self._command is not None:
            return [self._replace(word, values, number) for word in self._command]
        try:
            words = shlex.split(" ".join(values))
        except ValueError as error:
            raise InvalidRequest(f"cannot read the command {values[0]!r}: {error}") from None
        if not words:
            raise InvalidRequest(f"input {number + 1} is empty, and there is no other command")
        return words

    def _filling(self, values: Inputs, number: int) -> Any:
        return lambda text: self._replace(text, values, number)


def _name(spec: dict[str, Any]) -> str:
    name: str = spec["attributes"]["system"].get("job", {}).get("name", "")
    return name


def _rename(spec: dict[str, Any], name: str) -> None:
    """For a jobspec that `filled` has made: its map of system attributes is its own."""
    system = spec["attributes"]["system"]
    system["job"] = {**system.get("job", {}), "name": name}


def _is_open(ctx: click.Context, name: str) -> bool:
    value = ctx.params[name]
    return any(isinstance(text, Open) for text in (value if isinstance(value, tuple) else (value,)))


def _flat(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)
