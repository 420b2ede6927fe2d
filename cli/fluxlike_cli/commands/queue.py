"""`fluxlike queue`: whether jobs are started, whether new ones are taken, and waiting until it is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option, together

if TYPE_CHECKING:
    from fluxlike.protocol.jobs import QueueState
    from fluxlike.protocol.payload import Payload

json_option = option("--json", "as_json", is_flag=True, help="The queue's state as JSON.")
timeout_option = option("-t", "--timeout", type=parameters.timeout, default=None, help="Give up after this long.")
waiting_options = together(timeout_option, json_option)

HEADERS = ("QUEUE", "EN", "ST", "TDEFAULT", "TLIMIT", "NNODES", "NCORES", "NGPUS")
ANY_SIZE = "0-inf"


@click.group()
def queue() -> None:
    """Show the queue, stop and start it, close and open it, wait until it is empty.

    \b
    Examples:
      fluxlike queue stop -m "cooling works"       running jobs go on, no new ones start
      fluxlike queue start
      fluxlike queue disable -m "maintenance"      no new jobs are taken
      fluxlike queue drain -t 1h                   wait until nothing waits or runs
    """


@queue.command("list")
@option("-n", "--no-header", is_flag=True, help="Leave out the line of headers.")
@json_option
@click.pass_context
def list_(ctx: click.Context, no_header: bool, as_json: bool) -> None:
    """List the queues: whether they take jobs (EN) and start them (ST), and their limits.

    There is one queue, without a name and without limits of its own.

    \b
    Example:
      fluxlike queue list
    """
    from fluxlike.protocol.jobs import QueueStatus
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.table import print_table

    state = _ask(ctx, QueueStatus())
    if as_json:
        print_json({"queues": [{"name": "", **state.to_wire()}]})
        return
    marks = ["yes" if on else "no" for on in (state.enabled, state.started)]
    row = ("-", *marks, "inf", "inf", ANY_SIZE, ANY_SIZE, ANY_SIZE)
    print_table([""] * len(HEADERS) if no_header else HEADERS, [row])


@queue.command()
@json_option
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show whether the queue takes and starts jobs, and how many are in it.

    \b
    Example:
      fluxlike queue status
    """
    from fluxlike.protocol.jobs import QueueStatus

    _show(_ask(ctx, QueueStatus()), as_json)


@queue.command()
@option("-m", "--message", "reason", default="", metavar="REASON", help="Why; shown to whoever asks.")
@json_option
@click.pass_context
def stop(ctx: click.Context, reason: str, as_json: bool) -> None:
    """Start no more jobs. Running jobs go on, and new ones may be submitted.

    \b
    Example:
      fluxlike queue stop -m "cooling works"
    """
    from fluxlike.protocol.jobs import QueueStop

    _show(_ask(ctx, QueueStop(reason=reason)), as_json)


@queue.command()
@json_option
@click.pass_context
def start(ctx: click.Context, as_json: bool) -> None:
    """Start jobs again after `queue stop`.

    \b
    Example:
      fluxlike queue start
    """
    from fluxlike.protocol.jobs import QueueStart

    _show(_ask(ctx, QueueStart()), as_json)


@queue.command()
@option("-m", "--message", "reason", required=True, metavar="REASON", help="Why; told to whoever submits a job.")
@json_option
@click.pass_context
def disable(ctx: click.Context, reason: str, as_json: bool) -> None:
    """Take no more jobs. Those in the queue go on.

    \b
    Example:
      fluxlike queue disable -m "maintenance until 18:00"
    """
    from fluxlike.protocol.jobs import QueueDisable

    _show(_ask(ctx, QueueDisable(reason=reason)), as_json)


@queue.command()
@json_option
@click.pass_context
def enable(ctx: click.Context, as_json: bool) -> None:
    """Take jobs again after `queue disable`.

    \b
    Example:
      fluxlike queue enable
    """
    from fluxlike.protocol.jobs import QueueEnable

    _show(_ask(ctx, QueueEnable()), as_json)


@queue.command()
@waiting_options
@click.pass_context
def drain(ctx: click.Context, timeout: float | None, as_json: bool) -> None:
    """Wait until no job waits or runs. `queue disable` first, or new ones may come.

    \b
    Example:
      fluxlike queue disable -m "moving" && fluxlike queue drain -t 2h
    """
    from fluxlike.protocol.jobs import QueueDrain

    _show(_ask(ctx, QueueDrain(), timeout, "the queue is not empty"), as_json)


@queue.command()
@waiting_options
@click.pass_context
def idle(ctx: click.Context, timeout: float | None, as_json: bool) -> None:
    """Wait until no job runs. `queue stop` first, or waiting ones will start.

    \b
    Example:
      fluxlike queue stop && fluxlike queue idle
    """
    from fluxlike.protocol.jobs import QueueIdle

    _show(_ask(ctx, QueueIdle(), timeout, "jobs still run"), as_json)


def _ask(ctx: click.Context, request: Payload, timeout: float | None = None, late: str = "") -> QueueState:
    from fluxlike.errors import TimedOut
    from fluxlike.protocol.jobs import QueueState

    with connect(ctx) as client:
        try:
            return client.call(request, QueueState, timeout=timeout)
        except TimedOut:
            if timeout is None:
                raise
            raise TimedOut(f"after {timeout:g} s {late}; `fluxlike jobs` lists what is in it") from None


def _show(state: QueueState, as_json: bool) -> None:
    if as_json:
        from fluxlike_cli.output.json import print_json

        print_json(state.to_wire())
        return
    click.echo("Submission is enabled" if state.enabled else f"Submission is disabled: {state.disable_reason}")
    word = "started" if state.started else "stopped"
    reason = f" ({state.reason})" if state.reason and not state.started else ""
    click.echo(f"Scheduling is {word}{reason}: {state.pending} pending, {state.running} running")
