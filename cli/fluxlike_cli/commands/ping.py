"""`fluxlike ping`: the way to a broker and back."""

from __future__ import annotations

import time
from itertools import count as numbers
from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client


@click.command()
@click.argument("target", default="broker")
@option("-r", "--rank", type=click.IntRange(min=0), metavar="RANK", help="The rank, when TARGET names a service.")
@option("-c", "--count", type=click.IntRange(min=1), metavar="N", help="How many; without it until Ctrl-C.")
@option("-i", "--interval", type=parameters.duration, default="1s", help="Time between two, 1s by default.")
@option(
    "-p",
    "--pad",
    type=click.IntRange(0, 16 * 1024 * 1024),
    default=0,
    metavar="BYTES",
    help="Bytes to carry along.",
)
@click.pass_context
def ping(ctx: click.Context, target: str, rank: int | None, count: int | None, interval: float, pad: int) -> None:
    """Send a message to a rank or service and time its way there and back.

    TARGET is a rank (`3`), a service (`job`), or both (`3!job`).

    \b
    Examples:
      fluxlike ping 3
      fluxlike ping -c 5 -i 0.1 -p 1000 -r 3 broker
    """
    rank, service = _address(ctx, target, rank)
    with connect(ctx) as client:
        try:
            for sequence in range(count) if count else numbers():
                if sequence:
                    client.receive(timeout=interval)
                click.echo(_once(client, rank, service, pad, sequence))
        except KeyboardInterrupt:
            # Without a count this is how it ends.
            if count:
                raise


def _address(ctx: click.Context, target: str, rank: int | None) -> tuple[int | None, str]:
    """(rank or None for the nearest, service)"""
    first, mark, service = target.partition("!")
    if not mark and not first.isdecimal():
        return rank, target
    if not (first.isascii() and first.isdecimal()):
        raise click.BadParameter(f"{first!r} is not a rank", ctx, param_hint="TARGET")
    if rank is not None and rank != int(first):
        raise click.UsageError(f"two ranks given: {first} and --rank {rank}", ctx)
    return int(first), service or "broker"


def _once(client: Client, rank: int | None, service: str, pad: int, sequence: int) -> str:
    from fluxlike.errors import ProtocolError
    from fluxlike.protocol.instance import Pong
    from fluxlike.protocol.message import ANY

    data = bytes(pad)
    start = time.perf_counter()
    body = client.rpc(f"{service}.ping", {"pad": data}, rank=ANY if rank is None else rank)
    elapsed = (time.perf_counter() - start) * 1000
    reply = Pong.from_wire(body)
    if reply.pad != data:
        raise ProtocolError(f"{service} sent back {len(reply.pad)} bytes of padding, not {pad}")
    name = f"{service}.ping" if rank is None else f"{rank}!{service}.ping"
    route = "!".join(map(str, reply.route))
    return f"{name} pad={pad} seq={sequence} time={elapsed:.3f} ms ({route})"
