"""`fluxlike idset`: sets of numbers in short form and out of it. Needs no instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands.set_words import Counts, combine_option, words
from fluxlike_cli.options.declare import PlainHelp, option

if TYPE_CHECKING:
    from fluxlike.idset import Idset

EPILOG = """\b
Examples:
  fluxlike idset 1 2 3 7                         1-3,7
  fluxlike idset -e 0-3                          0 1 2 3
  fluxlike idset -c 0-99                         100
  fluxlike idset -o difference 0-9 4-5           0-3,6-9
  fluxlike idset -o intersect 0-9 5-20           5-9
  fluxlike idset -q -o equal 0-1 0,1 && echo same
"""

OPERATIONS: dict[str, Callable[[Idset, Idset], Idset]] = {
    "union": lambda one, other: one | other,
    "intersect": lambda one, other: one & other,
    "difference": lambda one, other: one - other,
    "xor": lambda one, other: (one | other) - (one & other),
    "equal": lambda one, other: one if one == other else one - one,
}


@click.command(cls=PlainHelp, epilog=EPILOG)
@click.argument("idsets", nargs=-1, metavar="[IDSET|-]...")
@combine_option(OPERATIONS, "union")
@option("-x", "--exclude", multiple=True, metavar="IDSET", help="Without these.")
@option("-e", "--expand", is_flag=True, help="Every number by itself, not in short form.")
@option("-d", "--delimiter", default=" ", metavar="TEXT", help="What stands between numbers with --expand.")
@option("-n", "--nth", type=int, metavar="N", help="Only number N of the set, from 0; -1 is the last.")
@option("-L", "--limit", type=int, metavar="N", help="At most N numbers; the last N if negative.")
@option("-c", "--count", is_flag=True, help="Print how many.")
@option("-q", "--quiet", is_flag=True, help="Print nothing; exit with 1 if the result is empty.")
def idset(idsets: tuple[str, ...], operation: str, exclude: tuple[str, ...], **given: object) -> int:
    """Put sets of numbers together and print the result in short form.

    Without IDSET, or with `-`, sets are read from standard input."""
    from fluxlike.idset import Idset

    sets = [Idset.parse(word) for word in words(idsets)]
    result = reduce(OPERATIONS[operation], sets) if sets else Idset()
    for text in exclude:
        result = result - Idset.parse(text)
    return Counts(given).show([str(number) for number in result], _short)


def _short(numbers: Iterable[str]) -> str:
    from fluxlike.idset import Idset

    made: Idset = Idset.of(map(int, numbers))
    return str(made)
