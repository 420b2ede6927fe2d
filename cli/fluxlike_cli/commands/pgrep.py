"""`fluxlike pgrep`, `fluxlike pkill`: jobs by name or by range of ids."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.commands.parameters import job_id
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import PlainHelp, option, together
from fluxlike_cli.options.states import states

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import JobRecord

Test = Callable[["JobRecord"], bool]

FOUND_NOTHING = 1


def expression(text: str) -> Test:
    """`ID..ID` is a range of ids, either end may be left out; anything else is looked for in names."""
    first, dots, last = text.partition("..")
    if dots and (first or last) and _is_id(first) and _is_id(last):
        low, high = (job_id(first) if first else 0), (job_id(last) if last else 1 << 64)
        return lambda record: low <= record.id <= high
    try:
        pattern = re.compile(text.removeprefix("name:"))
    except re.error as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}") from None
    return lambda record: pattern.search(record.name) is not None


def _is_id(text: str) -> bool:
    try:
        return not text or job_id(text) >= 0
    except click.BadParameter:
        return False


match_options = together(
    click.argument("expressions", type=expression, nargs=-1, required=True, metavar="EXPRESSION..."),
    option("-A", "all_users", is_flag=True, help="Jobs of all users."),
    option("-f", "--filter", "states", type=states, metavar="STATE,...", help="Jobs with these states or results."),
    option("-q", "--queue", default="", metavar="NAME", help="Jobs in this queue."),
    option("-c", "--count", type=click.IntRange(min=1), metavar="N", help="At most N jobs."),
)


@click.command(cls=PlainHelp)
@match_options
@option("-a", "all_states", is_flag=True, help="Jobs in all states, not only those that wait or run.")
@option("-o", "--format", metavar="FORMAT", help="What to show of each, as `fluxlike jobs -o` takes it.")
@option("-n", "--no-header", is_flag=True, help="No header line.")
@click.pass_context
def pgrep(ctx: click.Context, /, expressions: Sequence[Test], **given: Any) -> int:
    """Print the ids of jobs whose names match, or whose ids are in a range.

    An EXPRESSION is a regular expression that is looked for in the name, or FIRST..LAST; several must all
    match. Exits with 1 if no job does.

    \b
    Examples:
      fluxlike pgrep '^simulate'
      fluxlike pgrep -a -o endreason test        with how they ended
      fluxlike pgrep ƒuZZybuNNy..ƒuZZybuNNz      by id
    """
    from fluxlike.errors import InvalidRequest
    from fluxlike_cli.output.ids import id_text
    from fluxlike_cli.output.jobs import job_table, read_format

    try:
        layout = read_format(given["format"]) if given["format"] else None
    except InvalidRequest as error:
        raise click.BadParameter(str(error), ctx, param_hint="-o") from None
    with connect(ctx) as client:
        found = _matching(client, expressions, given, () if given["all_states"] else ("pending", "running"))
    if layout is not None:
        from fluxlike.clock import SystemClock

        lines = job_table(found, SystemClock().now(), layout, not given["no_header"]) if found else []
    else:
        lines = [id_text(record.id) for record in found]
    if lines:
        click.echo("\n".join(lines))
    return 0 if found else FOUND_NOTHING


@click.command(cls=PlainHelp)
@match_options
@option("-w", "--wait", "wait_end", is_flag=True, help="Wait until they have ended.")
@option("-m", "--message", "note", default="", metavar="NOTE", help="Why; kept in the jobs' eventlogs.")
@option("-n", "--dry-run", is_flag=True, help="Change nothing, print the ids.")
@click.pass_context
def pkill(ctx: click.Context, /, expressions: Sequence[Test], **given: Any) -> int:
    """Cancel the jobs that `fluxlike pgrep` finds.

    Exits with 1 if there is none.

    \b
    Examples:
      fluxlike pkill -n '^simulate'              which would it be?
      fluxlike pkill -w -m "wrong input" '^simulate'
    """
    from fluxlike.protocol.jobs import JobRaise, JobsTouched
    from fluxlike_cli.errors import report_untouched
    from fluxlike_cli.output.ids import id_text
    from fluxlike_cli.waiting import ends

    with connect(ctx) as client:
        ids = [record.id for record in _matching(client, expressions, given, ("pending", "running")) if record.active]
        if given["dry_run"] or not ids:
            click.echo("".join(f"{id_text(number)}\n" for number in ids), nl=False)
            return 0 if ids else FOUND_NOTHING
        touched = client.call(JobRaise(ids=ids, note=given["note"]), JobsTouched)
        report_untouched(touched, {})
        if given["wait_end"]:
            for _ in ends(client, touched.ids):
                pass
    click.echo(f"Canceled {len(touched.ids)} job{'' if len(touched.ids) == 1 else 's'}")
    return 1 if touched.errors else 0


def _matching(
    client: Client, expressions: Sequence[Test], given: dict[str, Any], usual: Sequence[str]
) -> list[JobRecord]:
    userid = os.getuid()
    found = [
        record
        for record in client.jobs(states=given["states"] or usual, limit=0)
        if (given["all_users"] or record.userid == userid)
        and (not given["queue"] or record.queue == given["queue"])
        and all(matches(record) for matches in expressions)
    ]
    return found[: given["count"]]
