"""A group whose commands are imported when they are called, and not to list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.options.declare import PlainHelp

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(PlainHelp, click.Group):
    """Commands come from a table: name -> (`module:attribute`, one line of help)."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, attribute = self.table[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.table and not ctx.resilient_parsing:
            hint = nearest(args[0], self.table)
            ctx.fail(f"No such command {args[0]!r}.{hint} `{ctx.command_path} --help` lists all.")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names of commands from the table, without importing any; then click's own, which are the options."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=text) for name, (_, text) in self.table.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'submit'?`, or nothing when no known word is near."""
    from difflib import get_close_matches

    matches = get_close_matches(word, list(known), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""
