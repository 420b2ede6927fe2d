"""`fluxlike job resubmit`: the same again, or what failed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client

NOT_DONE = ("failed", "canceled", "timeout")


@click.command()
@click.argument("job_id", type=parameters.job_id, metavar="ID")
@option("--failed", is_flag=True, help="Of an array, only the tasks that failed or were canceled.")
@click.pass_context
def resubmit(ctx: click.Context, job_id: int, failed: bool) -> None:
    """Submit a job again, as it was, and print the new id.

    Of an array, --failed makes a new one of the tasks that did not succeed, with their values in {cc}.

    \b
    Examples:
      fluxlike job resubmit ƒuZZybuNNy
      fluxlike job resubmit --failed ƒuZZybuNNy
    """
    from fluxlike_cli.output.ids import id_text

    with connect(ctx) as client:
        click.echo(id_text(_again(client, job_id, failed)))


def _again(client: Client, job_id: int, failed: bool) -> int:
    from fluxlike.client.submission import instance_batches
    from fluxlike.errors import InvalidRequest, NotFound
    from fluxlike_cli.output.ids import id_text

    job = client.job(job_id)
    spec = client.info(job_id, "jobspec")["jobspec"]
    if not job.array:
        if failed:
            raise InvalidRequest(f"{id_text(job_id)} is not an array; without --failed it is submitted again")
        ((new,),) = client.submit_messages(instance_batches([(spec, job.cc or None)], job.urgency, ()))
        return new
    tasks = client.tasks(job_id, NOT_DONE if failed else (), limit=0)
    if not tasks:
        raise NotFound(f"no task of {id_text(job_id)} has failed")
    return client.submit_array(spec, values=[task.cc for task in tasks], urgency=job.urgency)
