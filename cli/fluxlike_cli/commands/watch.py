"""`fluxlike watch`: the output of many jobs at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.commands.parameters import job_id
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import PlainHelp, option
from fluxlike_cli.options.states import states
from fluxlike_cli.options.values import past_time

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import JobRecord

EPILOG = """\b
Examples:
  fluxlike watch                        jobs that wait or run now, until they have ended
  fluxlike watch --all --since=-10m     those that ended in the last ten minutes as well
  fluxlike watch -f failed              what the failed ones wrote
  fluxlike watch ƒuZZybuNNy ƒuZZybuNNz
"""


@click.command(cls=PlainHelp, epilog=EPILOG)
@click.argument("ids", type=job_id, nargs=-1, metavar="[ID]...")
@option("-a", "--active", is_flag=True, help="Jobs that wait or run; the default.")
@option("-A", "--all", "every", is_flag=True, help="Jobs in all states.")
@option("-f", "--filter", "states", type=states, metavar="STATE,...", help="Jobs with these states or results.")
@option("--since", type=past_time, metavar="WHEN", help="Of those that ended, the ones since then: -1h, 8:00, a date.")
@option("-c", "--count", type=click.IntRange(min=0), default=1000, metavar="N", help="At most N jobs, 0 is all.")
@option("-l", "--label-io", "label", is_flag=True, help="Put the task's number before each line, too.")
@option("--progress", is_flag=True, help="Show a progress bar at once, not only when it takes long.")
@option("--jps", is_flag=True, help="With jobs per second in the progress bar.")
@option("-q", "--quiet", is_flag=True, help="Say nothing about jobs that failed.")
@click.pass_context
def watch(ctx: click.Context, /, ids: tuple[int, ...], **given: Any) -> int:
    """Write the output of jobs here, each line with its job's id, until all have ended.

    Exits with the highest of their exit codes."""
    if sum(map(bool, (given["active"], given["every"], given["states"], ids))) > 1:
        raise click.UsageError("give ids, --active, --all or --filter", ctx)
    from fluxlike_cli.output.progress import Progress
    from fluxlike_cli.targets import outputs_of
    from fluxlike_cli.waiting import watch as follow

    with connect(ctx) as client:
        jobs = _chosen(client, ids, given)
        if not jobs:
            click.echo("fluxlike: there is no such job to watch; `fluxlike jobs -a` lists all", err=True)
            return 0
        outputs = [output for job in jobs for output in outputs_of(job.id, job.array)]
        bar = Progress("ended", len(jobs), wanted=given["progress"], rate=given["jps"], stream=sys.stderr)
        with bar:
            return follow(
                client, [job.id for job in jobs], outputs, label=given["label"], quiet=given["quiet"], bar=bar
            )


def _chosen(client: Client, ids: tuple[int, ...], given: dict[str, Any]) -> list[JobRecord]:
    if ids:
        return client.jobs(ids=ids, limit=0)
    every = given["every"] or given["since"] is not None
    wanted = given["states"] or (() if every else ("active",))
    return client.jobs(states=wanted, limit=given["count"], since=given["since"] or 0.0)
