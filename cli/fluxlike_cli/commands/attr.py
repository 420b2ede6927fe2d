"""`fluxlike getattr`, `fluxlike lsattr`: the attributes of a broker."""

from __future__ import annotations

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option


@click.command("getattr")
@click.argument("name")
@option("--rank", type=click.IntRange(min=0), metavar="RANK", help="Ask this rank, not the nearest broker.")
@click.pass_context
def getattr_(ctx: click.Context, name: str, rank: int | None) -> None:
    """Print one attribute of a broker.

    \b
    Examples:
      fluxlike getattr size
      fluxlike getattr --rank 3 hostname
    """
    from fluxlike.protocol.instance import AttrGet, AttrValue
    from fluxlike.protocol.message import ANY

    with connect(ctx) as client:
        click.echo(client.call(AttrGet(name=name), AttrValue, rank=ANY if rank is None else rank).value)


@click.command()
@option("-v", "--values", is_flag=True, help="Print the values too.")
@option("--rank", type=click.IntRange(min=0), metavar="RANK", help="Ask this rank, not the nearest broker.")
@option("--json", "as_json", is_flag=True, help="Names and values as JSON.")
@click.pass_context
def lsattr(ctx: click.Context, values: bool, rank: int | None, as_json: bool) -> None:
    """List the attributes of a broker.

    \b
    Examples:
      fluxlike lsattr -v
      fluxlike lsattr --json | jq -r .size
    """
    from fluxlike.protocol.instance import AttrList, AttrListed
    from fluxlike.protocol.message import ANY
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.table import print_table

    with connect(ctx) as client:
        attrs = client.call(AttrList(), AttrListed, rank=ANY if rank is None else rank).attrs
    names = sorted(attrs)
    if as_json:
        print_json({name: attrs[name] for name in names})
    elif values:
        print_table(("", ""), [(name, str(attrs[name])) for name in names])
    else:
        print_table(("",), [(name,) for name in names])
