"""Declaring options at a price a short command can pay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """A click option that takes its help text as it is.

    click cleans every help text with `inspect`, whose import costs as much as the rest of a short command;
    ours are single lines and clean already.
    """

    def __init__(self, *args: Any, help: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.help = help


def option(*declarations: str, **attributes: Any) -> Callable[[F], F]:
    """`click.option` with `Option`."""
    return click.option(*declarations, cls=Option, **attributes)


def together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several option decorators as one; `--help` shows them in this order."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


class PlainHelp(click.Command):
    """A command with our own `--help`: click makes its one through `gettext` and `inspect` on every call."""

    _own_help: Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        names = self.get_help_option_names(ctx)
        if not names or not self.add_help_option:
            return None
        if self._own_help is None:
            self._own_help = Option(
                names,
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_help,
                help="Show this message and exit.",
            )
        return self._own_help


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class OrderedCommand(PlainHelp):
    """A command whose arguments are another command line, which knows the order of its options."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        # What follows the first word that is no option belongs to the program to run.
        self.allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # click hands out values per option; only its parser knows the order across options.
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [param.name for param in order]
        ctx.meta[_VALUES] = values
        return super().parse_args(ctx, args)


_ORDER = "fluxlike_cli.typed_order"
_VALUES = "fluxlike_cli.typed_values"


def typed_order(ctx: click.Context) -> list[str]:
    """Names of the options of an OrderedCommand as typed, repeats included."""
    order: list[str] = ctx.meta[_ORDER]
    return order


def typed_values(ctx: click.Context) -> dict[str, Any]:
    """The options of an OrderedCommand that were typed, by name: text (a list of it where repeats count) or a flag."""
    values: dict[str, Any] = ctx.meta[_VALUES]
    return values
