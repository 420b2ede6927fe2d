"""`fluxlike jobs`."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
    from fluxlike.protocol.jobs import JobList, JobStatsReply
    from fluxlike_cli.output.layout import Layout

EVERYBODY = -1
ACTIVE = ("pending", "running")

PAGE = 10_000
"""Jobs asked for at once: a list of a million would be one message that nobody could hold."""

EPILOG = """\b
Examples:
  fluxlike jobs                          what waits and what runs
  fluxlike jobs -a -c 20                 the latest, ended ones included
  fluxlike jobs -f failed,timeout        what went wrong
  fluxlike jobs --since=-1h -o endreason what ended in the last hour, and why
  fluxlike jobs -o id,state,reason       chosen fields
  fluxlike jobs -no '{id} {runtime!H}'   ... in a form of your own
  fluxlike jobs -a --sort=-runtime       the longest first
  fluxlike jobs --tasks ƒuZZybuNNy -f failed   tasks of an array that failed
  fluxlike jobs -a --json | jq -r '.jobs[] | select(.returncode != 0) | .id'
  while fluxlike jobs --stats-only; do sleep 5; done

\b
A format is a name (default, cute, long, deps, endreason, or one from
~/.config/fluxlike/jobs.toml), a list of fields, or text with fields in braces:
  {name:<10.10+}    left, ten columns, cut after ten; + marks what was cut
  {nnodes:>6h}      right, six columns; h shows a hyphen for nothing
  {t_submit!D}      a time: !D is ISO 8601, {t_submit!d:%H:%M::>6} by strftime
  {duration!F}      a duration: !F is 1.5h, !H is 1:30:00; !P is percent
  ?:{queue}         left out when empty for all jobs
  +:{username}      as wide as the longest; ?+: does both
  sort:-t_run ...   at the beginning: the order of the rows

FLUXLIKE_JOBS_FORMAT_DEFAULT holds the format for calls without -o. `-o help` lists all formats and fields."""


def table_format(text: str | None) -> Layout:
    from fluxlike.config.environment import jobs_format
    from fluxlike.errors import InvalidRequest
    from fluxlike_cli.output.jobs import read_format

    try:
        return read_format(jobs_format() or "default" if text is None else text)
    except InvalidRequest as error:
        hint = "-o" if text is not None else "FLUXLIKE_JOBS_FORMAT_DEFAULT"
        raise click.BadParameter(str(error), param_hint=hint) from None


def sort_order(text: str | None) -> list[str]:
    if not text:
        return []
    from fluxlike.errors import InvalidRequest
    from fluxlike_cli.output.job_fields import job_field
    from fluxlike_cli.output.layout import sort_keys

    try:
        return sort_keys(text, job_field)
    except InvalidRequest as error:
        raise click.BadParameter(str(error), param_hint="--sort") from None


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


@click.command(cls=PlainHelp, epilog=EPILOG)
@click.argument("ids", type=job_id, nargs=-1, metavar="[ID]...")
@option("-a", "all_states", is_flag=True, help="Jobs in all states, not only those that wait or run.")
@option("-A", "all_users", is_flag=True, help="Jobs of all users, in all states.")
@option("-u", "--user", type=user, metavar="USER", help="Jobs of this user; `all` for everybody.  [default: you]")
@option("-f", "--filter", "states", type=states, metavar="STATE,...", help="Jobs with these states or results.")
@option("--since", type=past_time, metavar="WHEN", help="Of those that ended, the ones since then: -1h, 8:00, a date.")
@option("--name", default="", metavar="NAME", help="Jobs with this name.")
@option("-q", "--queue", default="", metavar="NAME", help="Jobs in this queue.")
@option("-i", "--include", metavar="HOSTS|RANKS", help="Jobs on any of these hosts or ranks.")
@option(
    "-c", "--count", type=click.IntRange(min=0), default=1000, metavar="N",
    help="At most N jobs, 0 is all.  [default: 1000]",
)  # fmt: skip
@option("-o", "--format", metavar="FORMAT",
        help="What to show of each job: a name, fields, or text with {fields}; see below.")  # fmt: skip
@option("--sort", metavar="[-]FIELD,...", help="Order of the rows; `-` counts down.")
@option("-n", "--no-header", is_flag=True, help="No header line.")
@option("--tasks", "array", type=job_id, metavar="ID", help="List the tasks of this array instead.")
@option("--json", "as_json", is_flag=True, help="All that is known about the jobs, as JSON.")
@option("--stats", is_flag=True, help="Say first how many jobs there are in each state.")
@option("--stats-only", is_flag=True, help="Say only that; exit with 1 if no job is active.")
@click.pass_context
def jobs(ctx: click.Context, /, ids: tuple[int, ...], **given: Any) -> int:
    """List jobs: by default yours that wait or run, newest first."""
    from fluxlike.protocol.jobs import JobStats, JobStatsReply

    if given["array"] is not None:
        from fluxlike_cli.commands.jobs_tasks import list_tasks

        return list_tasks(ctx, given["array"], given)
    if given["format"] == "help":
        from fluxlike_cli.output.jobs import formats_help

        click.echo("\n".join(formats_help()))
        return 0
    given["layout"], given["sort"] = table_format(given["format"]), sort_order(given["sort"])
    with connect(ctx) as client:
        counts = None
        if given["stats"] or given["stats_only"]:
            counts = client.call(JobStats(), JobStatsReply)
        if counts is not None and given["stats_only"]:
            return _show_stats(counts, given["as_json"])
        there = _show(_pages(client, ids, given), counts, given)
    return _complain_about_missing(ids, there)


def _pages(client: Client, ids: tuple[int, ...], given: dict[str, Any]) -> Iterator[list[JobRecord]]:
    """The jobs asked for, in parts; at least one, which may be empty."""
    from fluxlike.client.requests import records
    from fluxlike.protocol.jobs import JobListed
    from fluxlike_cli.commands.jobs_filter import keeps

    wanted = keeps(given["queue"], given["include"])
    left = 0 if ids else given["count"]
    cursor = ""
    while True:
        # What is sorted out here must not count, so the limit is applied here as well.
        limit = 0 if ids else PAGE if wanted or not left else min(left, PAGE)
        listed = client.call(_request(ids, given, limit, cursor), JobListed)
        page = [record for record in records(listed) if wanted is None or wanted(record)]
        cursor = listed.cursor
        yield page[:left] if left else page
        if not cursor or (left and len(page) >= left):
            return
        left -= len(page) if left else 0


def _request(ids: tuple[int, ...], given: dict[str, Any], limit: int, cursor: str) -> JobList:
    from fluxlike.protocol.jobs import JobList

    if ids:
        return JobList(ids=list(dict.fromkeys(ids)), limit=0)
    every = given["all_states"] or given["all_users"] or given["since"] is not None
    wanted = given["states"] or (() if every else ACTIVE)
    userid = EVERYBODY if given["all_users"] else given["user"]
    if userid is None:
        userid = os.getuid()
    since = given["since"] or 0.0
    return JobList(states=list(wanted), userid=userid, name=given["name"], limit=limit, since=since, cursor=cursor)


def _show(pages: Iterator[list[JobRecord]], counts: JobStatsReply | None, given: dict[str, Any]) -> set[int]:
    """Print them; gives the ids of all."""
    layout: Layout = given["layout"]
    if given["as_json"] or given["sort"] or layout.sort:
        pages = iter([[record for page in pages for record in page]])
    if given["as_json"]:
        return _show_json(next(pages), counts, given["sort"])
    from fluxlike.clock import SystemClock
    from fluxlike_cli.output.jobs import job_table

    if counts is not None:
        click.echo(stats_line(counts))
    header, there, now = not given["no_header"], set(), SystemClock().now()
    for page in pages:
        lines = job_table(page, now, layout, header, given["sort"])
        if lines:
            click.echo("\n".join(lines))
        there |= {record.id for record in page}
        header = False
    return there


def _show_json(found: list[JobRecord], counts: JobStatsReply | None, sort: list[str]) -> set[int]:
    from fluxlike.clock import SystemClock
    from fluxlike_cli.output.job_fields import job_field
    from fluxlike_cli.output.jobs import job_json
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.layout import sort_rows

    totals = {} if counts is None else {"stats": counts.to_wire()}
    rows = sort_rows(found, sort, job_field, SystemClock().now())
    print_json({**totals, "jobs": [job_json(record) for record in rows]})
    return {record.id for record in found}


def _show_stats(counts: JobStatsReply, as_json: bool) -> int:
    """1 when nothing is left to do, so that a loop can end with it."""
    if as_json:
        from fluxlike_cli.output.json import print_json

        print_json({"stats": counts.to_wire()})
    else:
        click.echo(stats_line(counts))
    return 0 if counts.depend + counts.priority + counts.sched + counts.run + counts.cleanup else 1


def stats_line(counts: JobStatsReply) -> str:
    pending = counts.depend + counts.priority + counts.sched
    return (
        f"{counts.run + counts.cleanup} running, {counts.completed} completed, {counts.failed} failed, "
        f"{counts.canceled} canceled, {counts.timeout} timed out, {pending} pending"
    )


def _complain_about_missing(ids: tuple[int, ...], there: set[int]) -> int:
    """1 if a job that was named is not among those found."""
    from fluxlike_cli.errors import complain
    from fluxlike_cli.output.ids import id_text

    missing = [number for number in dict.fromkeys(ids) if number not in there]
    for number in missing:
        complain(f"no job has the id {id_text(number)}")
    return 1 if missing else 0
