"""`fluxlike queue`: whether waiting jobs are started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.protocol.jobs import QueueState


@click.group()
def queue() -> None:
    """Show the queue, stop it, start it again.

    \b
    Examples:
      fluxlike queue stop -m "cooling works"       running jobs go on, no new ones start
      fluxlike queue start
    """


@queue.command()
@option("-m", "--message", "reason", default="", metavar="REASON", help="Why; shown to whoever asks.")
@click.pass_context
def stop(ctx: click.Context, reason: str) -> None:
    """Start no more jobs. Running jobs go on, and new ones may be submitted.

    \b
    Example:
      fluxlike queue stop -m "cooling works"
    """
    from fluxlike.protocol.jobs import QueueState, QueueStop

    with connect(ctx) as client:
        _show(client.call(QueueStop(reason=reason), QueueState))


@queue.command()
@click.pass_context
def start(ctx: click.Context) -> None:
    """Start jobs again after `queue stop`.

    \b
    Example:
      fluxlike queue start
    """
    from fluxlike.protocol.jobs import QueueStart, QueueState

    with connect(ctx) as client:
        _show(client.call(QueueStart(), QueueState))


@queue.command()
@option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show whether the queue is started, and how many jobs are in it.

    \b
    Example:
      fluxlike queue status
    """
    from fluxlike.protocol.jobs import QueueState, QueueStatus
    from fluxlike_cli.output.json import print_json

    with connect(ctx) as client:
        state = client.call(QueueStatus(), QueueState)
    if as_json:
        print_json(state.to_wire())
    else:
        _show(state)


def _show(state: QueueState) -> None:
    word = "started" if state.started else "stopped"
    reason = f" ({state.reason})" if state.reason and not state.started else ""
    click.echo(f"Scheduling is {word}{reason}: {state.pending} pending, {state.running} running")
