"""`fluxlike hostlist`: host names in short form and out of it. Needs no instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands.set_words import Counts, combine_option, words
from fluxlike_cli.options.declare import PlainHelp, option

if TYPE_CHECKING:
    from fluxlike.hostlist import Hostlist

EPILOG = """\b
Examples:
  fluxlike hostlist node1 node2 node5            node[1-2,5]
  fluxlike hostlist -e 'node[1-3]'               node1 node2 node3
  fluxlike hostlist -c 'node[1-300]'             300
  fluxlike hostlist -x 'node[2-3]' 'node[1-4]'   node[1,4]
  fluxlike hostlist -o intersect 'a[1-9]' 'a[5-20]'
  fluxlike hostlist -n 0 'node[1-3]'             the first
"""

OPERATIONS: dict[str, Callable[[list[str], list[str]], list[str]]] = {
    "append": lambda one, other: [*one, *other],
    "union": lambda one, other: list(dict.fromkeys([*one, *other])),
    "intersect": lambda one, other: [name for name in dict.fromkeys(one) if name in set(other)],
    "difference": lambda one, other: [name for name in one if name not in set(other)],
    "xor": lambda one, other: [
        *(name for name in dict.fromkeys(one) if name not in set(other)),
        *(name for name in dict.fromkeys(other) if name not in set(one)),
    ],
}


@click.command(cls=PlainHelp, epilog=EPILOG)
@click.argument("hostlists", nargs=-1, metavar="[HOSTLIST|-]...")
@combine_option(OPERATIONS, "append")
@option("-x", "--exclude", multiple=True, metavar="HOSTLIST", help="Without these.")
@option("-u", "--unique", is_flag=True, help="Each host once.")
@option("-s", "--sort", is_flag=True, help="In order of name, numbers by their size.")
@option("-e", "--expand", is_flag=True, help="Every host by itself, not in short form.")
@option("-d", "--delimiter", default=" ", metavar="TEXT", help="What stands between hosts with --expand.")
@option("-n", "--nth", type=int, metavar="N", help="Only host N, from 0; -1 is the last.")
@option("-L", "--limit", type=int, metavar="N", help="At most N hosts; the last N if negative.")
@option("-c", "--count", is_flag=True, help="Print how many.")
@option("-q", "--quiet", is_flag=True, help="Print nothing; exit with 1 if the result is empty.")
def hostlist(
    hostlists: tuple[str, ...],
    operation: str,
    exclude: tuple[str, ...],
    unique: bool,
    sort: bool,
    **given: object,
) -> int:
    """Put host names together and print them in short form.

    Without HOSTLIST, or with `-`, lists are read from standard input."""
    from fluxlike.hostlist import Hostlist

    lists = [list(Hostlist.parse(word)) for word in words(hostlists)]
    names: list[str] = reduce(OPERATIONS[operation], lists) if lists else []
    away = {name for text in exclude for name in Hostlist.parse(text)}
    names = [name for name in names if name not in away]
    if unique:
        names = list(dict.fromkeys(names))
    if sort:
        names.sort(key=_natural)
    return Counts(given).show(names, _short)


def _short(names: Iterable[str]) -> str:
    from fluxlike.hostlist import Hostlist

    made: Hostlist = Hostlist.of(names)
    return str(made)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """node2 before node10."""
    import re

    parts = re.split(r"(\d+)", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
