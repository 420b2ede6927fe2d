"""Commands about many jobs or their time: last, timeleft, purge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client

_SLICE = re.compile(r"\[(-?\d*):(-?\d*)\]")


def choice(text: str) -> slice:
    """`3`: the last three; `[1:4]`: a slice of all, the newest first."""
    if text.isdecimal() and int(text):
        return slice(0, int(text))
    found = _SLICE.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is neither a number nor a slice such as [0:3] or [:]")
    start, stop = (int(word) if word not in ("", "-") else None for word in found.groups())
    return slice(start, stop)


@click.command()
@click.argument("wanted", type=choice, default="1", metavar="[N|SLICE]")
@click.pass_context
def last(ctx: click.Context, wanted: slice) -> None:
    """Print the id of the job that was submitted last, or of the last N, the newest first.

    A SLICE such as [1:3] chooses among all, counted from the newest.

    \b
    Examples:
      fluxlike job attach $(fluxlike job last)
      fluxlike job last 5
      fluxlike job last [:]
    """
    from fluxlike.errors import NotFound
    from fluxlike_cli.output.ids import id_text

    with connect(ctx) as client:
        ids = _newest(client, wanted)
    if not ids:
        raise NotFound("there is no such job; `fluxlike jobs -a` lists all")
    click.echo("\n".join(map(id_text, ids)))


def _newest(client: Client, wanted: slice) -> list[int]:
    """Ids grow with time. Only as many are kept as the slice can reach."""
    import os
    from heapq import nlargest

    from fluxlike.client.requests import JobPages
    from fluxlike.protocol.jobs import JobListed

    bounded = wanted.stop is not None and wanted.stop >= 0 and (wanted.start or 0) >= 0
    pages, ids = JobPages((), (), "", 0, 0.0), []
    userid = os.getuid()
    while not pages.done:
        ids += [
            record.id for record in pages.accept(client.call(pages.request(), JobListed)) if record.userid == userid
        ]
        if bounded:
            ids = nlargest(wanted.stop, ids)
    return sorted(ids, reverse=True)[wanted]


@click.command()
@click.argument("job_id", type=parameters.job_id, required=False, metavar="[ID]")
@option("-H", "--human", is_flag=True, help="As a duration such as 1.5h.")
@click.pass_context
def timeleft(ctx: click.Context, job_id: int | None, human: bool) -> None:
    """Print how many seconds a running job has left, or `infinity` if it has no time limit.

    Inside a job ID may be left out.

    \b
    Examples:
      fluxlike job timeleft ƒuZZybuNNy
      fluxlike job timeleft -H
    """
    from fluxlike.clock import SystemClock
    from fluxlike.config.environment import enclosing_job
    from fluxlike.duration import format_duration
    from fluxlike.errors import InvalidRequest
    from fluxlike_cli.output.ids import id_text

    if job_id is None:
        inside = enclosing_job()
        if not inside:
            raise click.UsageError("outside of a job there must be an ID", ctx)
        job_id = parameters.job_id(inside)
    with connect(ctx) as client:
        job = client.job(job_id)
    if job.state != "run":
        raise InvalidRequest(f"{id_text(job_id)} does not run: it is in {job.state.upper()}")
    if not job.expiration:
        click.echo("infinity")
        return
    left = max(0.0, job.expiration - SystemClock().now())
    click.echo(format_duration(round(left)) if human else str(int(left)))


@click.command()
@click.argument("ids", type=parameters.job_id, nargs=-1, metavar="[ID]...")
@option("--age-limit", type=parameters.duration, metavar="FSD", help="Those that ended longer ago than this.")
@option("--num-limit", type=click.IntRange(min=0), metavar="N", help="All but the newest N.")
@option("-f", "--force", is_flag=True, help="Do it; without this, only tell how many it would be.")
@click.pass_context
def purge(
    ctx: click.Context, ids: tuple[int, ...], age_limit: float | None, num_limit: int | None, force: bool
) -> None:
    """Forget jobs that have ended, for good: their records, eventlogs and output.

    Without ID and without limits it is all that have ended.

    \b
    Examples:
      fluxlike job purge --age-limit=30d             how many would go?
      fluxlike job purge --age-limit=30d -f
      fluxlike job purge --num-limit=1000 -f         keep the newest thousand
      fluxlike job purge -f ƒuZZybuNNy
    """
    if ids and (age_limit is not None or num_limit is not None):
        raise click.UsageError("give ids or limits, not both", ctx)
    if not ids and age_limit is None and num_limit is None:
        num_limit = 0
    with connect(ctx) as client:
        count = client.purge(ids, age=age_limit, num=num_limit, dry_run=not force)
    jobs = "1 inactive job" if count == 1 else f"{count} inactive jobs"
    click.echo(f"Purged {jobs}" if force else f"Would purge {jobs}; say --force to do it")
