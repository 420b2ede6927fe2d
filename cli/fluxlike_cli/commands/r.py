"""`fluxlike R`: documents that say which resources a job has. Needs no instance."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import click

from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.resource.rset import RSet

files = click.argument("files", nargs=-1, metavar="[FILE|-]...")
include_option = option("-i", "--include", metavar="RANKS", help="Only these ranks.")


@click.group("R")
def r() -> None:
    """Read and combine resource sets (R), as `fluxlike job info ID R` prints them.

    Without FILE, or with `-`, they are read from standard input; a file may hold several.

    \b
    Examples:
      fluxlike job info ƒuZZybuNNy R | fluxlike R info
      fluxlike R encode -r 0-3 -c 0-7 -H 'node[0-3]' | fluxlike R decode --nodelist
      fluxlike R diff all.json used.json | fluxlike R info
    """


@r.command()
@files
def info(files: tuple[str, ...]) -> None:
    """Tell how many nodes, cores and GPUs there are.

    \b
    Example:
      fluxlike job info ƒuZZybuNNy R | fluxlike R info
    """
    found = _united(files)
    click.echo(f"{found.nnodes} Nodes, {found.ncores} Cores, {found.ngpus} GPUs")


@r.command()
@files
@include_option
@option("--nodelist", "what", flag_value="nodelist", help="Print host names in short form.")
@option("--ranks", "what", flag_value="ranks", help="Print ranks.")
@option("--short", "what", flag_value="short", help="Print rank[RANKS]/core[CORES].")
@option("--count", type=click.Choice(["node", "core", "gpu"]), help="Print how many.")
def decode(files: tuple[str, ...], include: str | None, what: str | None, count: str | None) -> None:
    """Print a part of R, or all of it again.

    \b
    Examples:
      fluxlike R decode --count=core < R.json
      fluxlike R decode --include=0-1 < R.json > half.json
    """
    found = _included(_united(files), include)
    if count:
        click.echo({"node": found.nnodes, "core": found.ncores, "gpu": found.ngpus}[count])
    elif what == "nodelist":
        click.echo(str(found.nodelist))
    elif what == "ranks":
        click.echo(str(found.rank_idset))
    elif what == "short":
        click.echo(_short(found))
    else:
        _print(found)


@r.command()
@option("-r", "--ranks", default="0", show_default=True, metavar="IDSET", help="Ranks.")
@option("-c", "--cores", default="0", show_default=True, metavar="IDSET", help="Cores of each rank.")
@option("-g", "--gpus", default="", metavar="IDSET", help="GPUs of each rank.")
@option("-H", "--hosts", default="", metavar="HOSTLIST", help="Host names, one for each rank.")
def encode(ranks: str, cores: str, gpus: str, hosts: str) -> None:
    """Make an R of ranks that are all alike.

    \b
    Example:
      fluxlike R encode -r 0-3 -c 0-7 -g 0-1 -H 'node[0-3]'
    """
    from fluxlike.hostlist import Hostlist
    from fluxlike.idset import Idset, parse_mask
    from fluxlike.resource.rset import RSet

    numbers = list(Idset.parse(ranks))
    names = list(Hostlist.parse(hosts)) if hosts else []
    if names and len(names) != len(numbers):
        raise click.UsageError(f"there are {len(numbers)} ranks and {len(names)} hosts")
    masks = (parse_mask(cores), parse_mask(gpus) if gpus else 0)
    _print(RSet(ranks=dict.fromkeys(numbers, masks), hosts=dict(zip(numbers, names, strict=False)), nslots=1))


@r.command()
@files
def append(files: tuple[str, ...]) -> None:
    """Put resource sets one after the other; they must have no rank in common.

    \b
    Example:
      fluxlike R append one.json two.json
    """
    _print(reduce(lambda one, other: one.append(other), _read(files)))


@r.command()
@files
def union(files: tuple[str, ...]) -> None:
    """Everything that is in any of them.

    \b
    Example:
      fluxlike R union one.json two.json
    """
    _print(_united(files))


@r.command()
@files
def diff(files: tuple[str, ...]) -> None:
    """What is in the first and in none of the others.

    \b
    Example:
      fluxlike R diff all.json used.json
    """
    _print(_combined(files, lambda one, other: one.difference(other)))


@r.command()
@files
def intersect(files: tuple[str, ...]) -> None:
    """What is in all of them.

    \b
    Example:
      fluxlike R intersect one.json two.json
    """
    _print(_combined(files, lambda one, other: one.intersection(other)))


@r.command()
@files
def remap(files: tuple[str, ...]) -> None:
    """Number the ranks anew, from 0.

    \b
    Example:
      fluxlike R decode --include=4-7 < R.json | fluxlike R remap
    """
    _print(_united(files).remap())


def _read(files: tuple[str, ...]) -> list[RSet]:
    import json

    from fluxlike.errors import InvalidRequest
    from fluxlike.resource.rset import RSet

    found = []
    for path in files or ("-",):
        with click.open_file(path, encoding="utf-8") as file:
            text = file.read().strip()
        while text:
            try:
                document, end = json.JSONDecoder().raw_decode(text)
            except ValueError as error:
                raise InvalidRequest(f"{path}: no JSON: {error}") from None
            found.append(RSet.from_json(document))
            text = text[end:].strip()
    if not found:
        raise InvalidRequest("there is no R to read")
    return found


def _combined(files: tuple[str, ...], operation: Callable[[RSet, RSet], RSet]) -> RSet:
    return reduce(operation, _read(files))


def _united(files: tuple[str, ...]) -> RSet:
    return _combined(files, lambda one, other: one.union(other))


def _included(found: RSet, ranks: str | None) -> RSet:
    from fluxlike.idset import Idset

    return found if ranks is None else found.copy_ranks(Idset.parse(ranks))


def _short(found: RSet) -> str:
    """Ranks with the same cores and GPUs together."""
    from fluxlike.idset import Idset, mask_text

    alike: dict[tuple[int, int], list[int]] = {}
    for rank, masks in sorted(found.ranks.items()):
        alike.setdefault(masks, []).append(rank)
    parts = []
    for (cores, gpus), ranks in alike.items():
        inside = [f"{kind}[{mask_text(mask)}]" for kind, mask in (("core", cores), ("gpu", gpus)) if mask]
        parts.append(f"rank[{Idset.of(ranks)}]/{','.join(inside)}")
    return " ".join(parts)


def _print(found: RSet) -> None:
    from fluxlike_cli.output.json import print_json

    print_json(found.to_json(), compact=True)
