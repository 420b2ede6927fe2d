"""`fluxlike resource`: what the instance has, what of it is free, and which nodes are set aside."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike_cli.output.resources import Node
    from fluxlike_cli.output.table import Cell

STATES = ("free", "allocated", "down", "up", "all")


def states_of(text: str) -> tuple[str, ...]:
    """Names of resource states with commas between."""
    states = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    unknown = [word for word in states if word not in STATES]
    if unknown or not states:
        raise click.BadParameter(f"{(unknown or [text])[0]!r} is not one of {', '.join(STATES)}")
    return states


@click.group()
def resource() -> None:
    """See the nodes, cores and GPUs of the instance; take nodes out of use and back.

    \b
    Examples:
      fluxlike resource list                       what is free, allocated and down
      fluxlike resource drain node7 "bad memory"   no new jobs there
      fluxlike resource drain                      which nodes are drained, and why
    """


@resource.command("list")
@option(
    "-s",
    "--states",
    type=states_of,
    default="free,allocated,down",
    show_default=True,
    help="Also: up, all.",
)
@option("-n", "--no-header", is_flag=True, help="Leave out the line of headers.")
@option("--json", "as_json", is_flag=True, help="As JSON, with ranks.")
@click.pass_context
def list_(ctx: click.Context, states: tuple[str, ...], no_header: bool, as_json: bool) -> None:
    """List resources by state. A node in part use counts as free and as allocated; its cores count once.

    \b
    Example:
      fluxlike resource list -s up
    """
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.resources import share
    from fluxlike_cli.output.table import print_table

    nodes = _nodes(ctx)
    shares = [share(state, nodes) for state in states]
    if as_json:
        print_json([part.to_json() for part in shares])
        return
    headers = ["STATE", "NNODES", "NCORES", "NGPUS", "NODELIST"]
    rows: list[list[Cell]] = [[p.state, p.nnodes, p.ncores, p.ngpus, p.nodelist] for p in shares]
    if not any(node.gpus for node in nodes):
        del headers[3]
        for row in rows:
            del row[3]
    print_table([""] * len(headers) if no_header else headers, rows)


@resource.command()
@option("-s", "--state", type=click.Choice(STATES), default="all", show_default=True)
@option("--json", "as_json", is_flag=True, help="As JSON, with ranks.")
@click.pass_context
def info(ctx: click.Context, state: str, as_json: bool) -> None:
    """Print the totals in one line.

    \b
    Example:
      fluxlike resource info            8 Nodes, 32 Cores, 0 GPUs
    """
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.resources import share

    part = share(state, _nodes(ctx))
    if as_json:
        print_json(part.to_json())
    else:
        counts = (part.nnodes, "Node"), (part.ncores, "Core"), (part.ngpus, "GPU")
        click.echo(", ".join(f"{count} {noun}" if count == 1 else f"{count} {noun}s" for count, noun in counts))


@resource.command()
@option("-n", "--no-header", is_flag=True, help="Leave out the line of headers.")
@option("--json", "as_json", is_flag=True, help="Every node, as JSON.")
@click.pass_context
def status(ctx: click.Context, no_header: bool, as_json: bool) -> None:
    """Show which nodes can be used: avail, torpid, draining, drained or offline.

    \b
    Example:
      fluxlike resource status
    """
    from fluxlike.protocol.instance import ResourceNodes, ResourceStatus
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.resources import Node, grouped, nodelist
    from fluxlike_cli.output.table import print_table

    with connect(ctx) as client:
        rows = client.call(ResourceStatus(), ResourceNodes).nodes
    if as_json:
        print_json([{**row, "state": Node(row).state} for row in rows])
        return
    groups = grouped(map(Node, rows), lambda node: (node.state, node.up))
    print_table(
        [""] * 4 if no_header else ("STATE", "UP", "NNODES", "NODELIST"),
        [(state, _mark(up), len(nodes), nodelist(nodes)) for (state, up), nodes in groups],
    )


@resource.command()
@click.argument("targets", required=False)
@click.argument("reason", nargs=-1)
@option("-n", "--no-header", is_flag=True, help="Leave out the line of headers.")
@option("--json", "as_json", is_flag=True, help="The drained nodes, as JSON.")
@click.pass_context
def drain(ctx: click.Context, targets: str | None, reason: tuple[str, ...], no_header: bool, as_json: bool) -> None:
    """Take nodes out of use, or list the nodes that are.

    TARGETS are ranks (`0-3,7`) or hosts (`node[1-4]`). Jobs that run there go on; no new ones start.

    \b
    Examples:
      fluxlike resource drain                      the list, with reasons
      fluxlike resource drain 3 bad memory
      fluxlike resource drain "node[1-4]" "firmware update"
    """
    from fluxlike.protocol.instance import Drained, ResourceDrain

    if targets is None:
        _list_drained(ctx, no_header, as_json)
        return
    with connect(ctx) as client:
        client.call(ResourceDrain(targets=targets, reason=" ".join(reason)), Drained)


@resource.command()
@click.argument("targets")
@click.pass_context
def undrain(ctx: click.Context, targets: str) -> None:
    """Bring drained nodes back into use.

    \b
    Examples:
      fluxlike resource undrain 3
      fluxlike resource undrain "node[1-4]"
    """
    from fluxlike.protocol.instance import Drained, ResourceUndrain

    with connect(ctx) as client:
        client.call(ResourceUndrain(targets=targets), Drained)


def _list_drained(ctx: click.Context, no_header: bool, as_json: bool) -> None:
    from fluxlike.idset import Idset
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.resources import grouped, nodelist
    from fluxlike_cli.output.table import print_table
    from fluxlike_cli.output.times import local

    drained = [node for node in _nodes(ctx) if node.drained]
    groups = grouped(drained, lambda node: (node.drained_at, node.state, node.reason))
    if as_json:
        print_json(
            [
                {
                    "timestamp": at,
                    "state": state,
                    "reason": why,
                    "ranks": str(Idset.of(node.rank for node in nodes)),
                    "nodelist": nodelist(nodes),
                }
                for (at, state, why), nodes in groups
            ]
        )
        return
    print_table(
        [""] * 4 if no_header else ("TIME", "STATE", "REASON", "NODELIST"),
        [(local(at), state, why, nodelist(nodes)) for (at, state, why), nodes in groups],
    )


def _nodes(ctx: click.Context) -> list[Node]:
    from fluxlike.protocol.instance import ResourceNodes, ResourceStatus
    from fluxlike_cli.output.resources import Node

    with connect(ctx) as client:
        return [Node(row) for row in client.call(ResourceStatus(), ResourceNodes).nodes]


def _mark(up: bool) -> str:
    try:
        "✔✗".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "y" if up else "n"
    return "✔" if up else "✗"
