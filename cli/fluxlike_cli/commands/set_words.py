"""What `hostlist` and `idset` share: words from the command line or standard input, and ways to show a list."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from fluxlike_cli.options.declare import option

EMPTY = 1


def words(given: Sequence[str]) -> Iterator[str]:
    """As typed; `-`, or nothing, stands for the words of standard input."""
    for word in given or ("-",):
        if word != "-":
            yield word
        else:
            for line in sys.stdin:
                yield from line.split()


def combine_option(operations: Mapping[str, object], usual: str) -> Callable[[Any], Any]:
    return option(
        "-o", "--operation", type=click.Choice(list(operations)), default=usual, show_default=True,
        help="How the first is put together with the next, and so on.",
    )  # fmt: skip


class Counts:
    """The options that decide what is shown of a list."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def show(self, items: list[str], short: Callable[[Iterable[str]], str]) -> int:
        """Print it; gives the exit status."""
        given = self._given
        nth, limit = given["nth"], given["limit"]
        if nth is not None:
            items = items[nth : nth + 1 or None]
        if limit is not None:
            items = items[:limit] if limit >= 0 else items[limit:]
        if given["quiet"]:
            return 0 if items else EMPTY
        if given["count"]:
            click.echo(len(items))
        elif items:
            click.echo(given["delimiter"].join(items) if given["expand"] else short(items))
        return 0
