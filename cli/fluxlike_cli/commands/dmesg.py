"""`fluxlike dmesg`: the log that each broker keeps in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

FIELDS = ("timestamp", "rank", "level", "logger", "text")


@click.command()
@option("-H", "--human", is_flag=True, help="Times as minutes and steps.")
@option("-f", "--follow", is_flag=True, help="Go on with new entries until Ctrl-C.")
@option("--rank", type=click.IntRange(min=0), metavar="RANK", help="Ask this rank, not the nearest broker.")
@option("--json", "as_json", is_flag=True, help="One JSON object per entry and line.")
@click.pass_context
def dmesg(ctx: click.Context, human: bool, follow: bool, rank: int | None, as_json: bool) -> None:
    """Print the log of a broker, oldest entry first.

    \b
    Examples:
      fluxlike dmesg -H
      fluxlike dmesg -f --rank 3
    """
    from fluxlike.protocol.instance import Dmesg, LogEntries
    from fluxlike.protocol.message import ANY

    line = _json_line if as_json else _text_line(human)
    with connect(ctx) as client:
        for reply in client.stream(Dmesg(follow=follow), LogEntries, rank=ANY if rank is None else rank):
            if reply.entries:
                click.echo("\n".join(line(entry) for entry in reply.entries))


def _json_line(entry: Sequence[Any]) -> str:
    from fluxlike_cli.output.json import format_json

    return format_json(dict(zip(FIELDS, entry, strict=True)), compact=True)


def _text_line(human: bool) -> Callable[[Sequence[Any]], str]:
    from fluxlike_cli.output.times import HumanStamps, iso

    stamp = HumanStamps() if human else iso

    def line(entry: Sequence[Any]) -> str:
        timestamp, rank, level, logger, text = entry
        # Further lines of an entry (a traceback) are set in, so that no entry can pass for another.
        text = text.rstrip().replace("\n", "\n    ")
        return f"{stamp(timestamp)} {logger}.{level.lower()}[{rank}]: {text}"

    return line
