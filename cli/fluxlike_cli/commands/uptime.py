"""`fluxlike uptime`: the instance in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.protocol.instance import UptimeReply


@click.command()
@option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def uptime(ctx: click.Context, as_json: bool) -> None:
    """Show how the instance is: state and for how long, owner, depth, size, store, what is amiss.

    \b
    Example:
      fluxlike uptime
    """
    from fluxlike.clock import SystemClock
    from fluxlike.protocol.instance import Uptime, UptimeReply
    from fluxlike_cli.output.json import print_json

    with connect(ctx) as client:
        # Of the whole instance, which only the root knows: the nearest broker may be any.
        reply = client.call(Uptime(), UptimeReply, rank=0)
    if as_json:
        print_json({**reply.to_wire(), "owner_name": user_name(reply.owner)})
    else:
        click.echo("\n".join(uptime_lines(reply, SystemClock().now())))


def uptime_lines(reply: UptimeReply, now: float) -> list[str]:
    """The one line, then what needs sentences: the store's promise and notices."""
    from fluxlike_cli.output.times import clock, elapsed

    parts = [
        f"{clock(now)} {reply.state} {elapsed(now - reply.since)}",
        f"owner {user_name(reply.owner)}",
        f"depth {reply.level}",
        f"size {reply.size}",
    ]
    if reply.drained:
        parts.append(f"{reply.drained} drained")
    if reply.online < reply.size:
        parts.append(f"{reply.size - reply.online} offline")
    store = [f"  store: {reply.store}"] if reply.store else []
    return [",  ".join(parts), *store, *(f"  {notice}" for notice in reply.notices)]


def user_name(uid: int) -> str:
    """The account's name, or its number where it has none (as in a container)."""
    from pwd import getpwuid

    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
