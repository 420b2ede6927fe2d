"""`fluxlike jobs`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.commands.parameters import job_id
from fluxlike_cli.context import connect
from fluxlike_cli.group import nearest
from fluxlike_cli.options.declare import PlainHelp, option
from fluxlike_cli.options.states import states

if TYPE_CHECKING:
    from fluxlike.client.results import JobRecord
    from fluxlike.protocol.jobs import JobList, JobStatsReply

EVERYBODY = -1
ACTIVE = ("pending", "running")

EPILOG = """\b
Examples:
  fluxlike jobs                          what waits and what runs
  fluxlike jobs -a -c 20                 the latest, ended ones included
  fluxlike jobs -f failed,timeout        what went wrong
  fluxlike jobs -o endreason -f inactive ... and why
  fluxlike jobs -o id,state,reason       chosen columns
  fluxlike jobs -a --json | jq -r '.jobs[] | select(.returncode != 0) | .id'

Formats: default, long, deps, endreason, or a list of fields:
"""


def table_format(text: str) -> str:
    """A named format, or field names with commas between them."""
    from fluxlike_cli.output.jobs import columns, known

    if "{" in text:
        raise click.BadParameter("takes the name of a format or a list of fields, such as id,name,status")
    try:
        if columns(text):
            return text
    except KeyError as error:
        word: str = error.args[0]
        hint = nearest(word, known(text))
        raise click.BadParameter(f"unknown field {word!r}.{hint} --help lists all.") from None
    raise click.BadParameter("names no field")


def user(text: str) -> int:
    """The number of a user given by name or number; `all` is everybody."""
    if text == "all":
        return EVERYBODY
    if text.isdecimal():
        return int(text)
    import pwd

    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError:
        raise click.BadParameter(f"there is no user {text!r}") from None


class JobsCommand(PlainHelp):
    """Lists all fields at the end of its help."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from fluxlike_cli.output.jobs import COLUMNS

        super().format_epilog(ctx, formatter)
        with formatter.indentation():
            formatter.write_text(", ".join(COLUMNS))


@click.command(cls=JobsCommand, epilog=EPILOG)
@click.argument("ids", type=job_id, nargs=-1, metavar="[ID]...")
@option("-a", "all_states", is_flag=True, help="Jobs in all states, not only those that wait or run.")
@option("-A", "all_users", is_flag=True, help="Jobs of all users, in all states.")
@option("-u", "--user", type=user, metavar="USER", help="Jobs of this user; `all` for everybody.  [default: you]")
@option("-f", "--filter", "states", type=states, metavar="STATE,...", help="Jobs with these states or results.")
@option("--name", default="", metavar="NAME", help="Jobs with this name.")
@option("-q", "--queue", default="", metavar="NAME", help="Jobs in this queue.")
@option(
    "-c", "--count", type=click.IntRange(min=0), default=1000, metavar="N",
    help="At most N jobs, 0 is all.  [default: 1000]",
)  # fmt: skip
@option("-o", "--format", type=table_format, default="default", metavar="FORMAT", help="What to show of each job.")
@option("-n", "--no-header", is_flag=True, help="No header line.")
@option("--json", "as_json", is_flag=True, help="All that is known about the jobs, as JSON.")
@option("--stats", is_flag=True, help="Say first how many jobs there are in each state.")
@click.pass_context
def jobs(ctx: click.Context, /, ids: tuple[int, ...], as_json: bool, stats: bool, **given: Any) -> int:
    """List jobs: by default yours that wait or run, newest first."""
    from fluxlike.client.requests import records
    from fluxlike.protocol.jobs import JobListed, JobStats, JobStatsReply

    with connect(ctx) as client:
        counts = client.call(JobStats(), JobStatsReply) if stats else None
        found = records(client.call(_request(ids, given), JobListed))
    if given["queue"]:
        found = [record for record in found if record.queue == given["queue"]][: given["count"] or None]
    _show(found, counts, as_json, given)
    return _complain_about_missing(ids, found)


def _request(ids: tuple[int, ...], given: dict[str, Any]) -> JobList:
    from fluxlike.protocol.jobs import JobList

    if ids:
        return JobList(ids=list(dict.fromkeys(ids)), limit=0)
    wanted = given["states"] or (() if given["all_states"] or given["all_users"] else ACTIVE)
    userid = EVERYBODY if given["all_users"] else given["user"]
    if userid is None:
        userid = os.getuid()
    # The instance does not filter by queue, so its limit would count the wrong jobs.
    limit = 0 if given["queue"] else given["count"]
    return JobList(states=list(wanted), userid=userid, name=given["name"], limit=limit)


def _show(found: list[JobRecord], counts: JobStatsReply | None, as_json: bool, given: dict[str, Any]) -> None:
    from fluxlike_cli.output.jobs import job_json, job_table

    if as_json:
        from fluxlike_cli.output.json import print_json

        totals = {} if counts is None else {"stats": counts.to_wire()}
        print_json({**totals, "jobs": [job_json(record) for record in found]})
        return
    from fluxlike.clock import SystemClock

    if counts is not None:
        click.echo(stats_line(counts))
    lines = job_table(found, SystemClock().now(), given["format"], header=not given["no_header"])
    if lines:
        click.echo("\n".join(lines))


def stats_line(counts: JobStatsReply) -> str:
    pending = counts.depend + counts.priority + counts.sched
    return (
        f"{counts.run + counts.cleanup} running, {counts.completed} completed, {counts.failed} failed, "
        f"{counts.canceled} canceled, {counts.timeout} timed out, {pending} pending"
    )


def _complain_about_missing(ids: tuple[int, ...], found: list[JobRecord]) -> int:
    """1 if a job that was named is not among those found."""
    from fluxlike_cli.errors import complain
    from fluxlike_cli.output.ids import id_text

    there = {record.id for record in found}
    missing = [number for number in dict.fromkeys(ids) if number not in there]
    for number in missing:
        complain(f"no job has the id {id_text(number)}")
    return 1 if missing else 0
