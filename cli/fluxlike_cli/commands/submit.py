"""`fluxlike submit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.copies import copy_options, specs, submit_copies
from fluxlike_cli.options.declare import OrderedCommand, option
from fluxlike_cli.options.submission import Submission, submission_options

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client

EPILOG = """\b
Examples:
  fluxlike submit -n 4 -t 30 ./simulate in.dat       four tasks, at most half an hour
  fluxlike submit --cc=1-500 ./step {cc}             five hundred jobs in one message
  fluxlike submit --cc=1-4 --watch hostname          ... and all of their output
  fluxlike submit --output=job-{{id}}.out make       output to a file
  fluxlike submit --dependency=afterok:ƒuZZybuNNy ./next
  fluxlike submit --wait true && echo done           wait for the job and its exit code
  fluxlike submit --dry-run -N 2 ./app               only show the jobspec

A job gets a copy of the whole environment, changed by --env rules in the order they are typed:

\b
  --env=-LD_*           remove what matches        --env=OMP_*      copy what matches back
  --env=PATH=$PATH:/x   set, $NAME is replaced     --env=^FILE      read rules from a file
"""


@click.command(cls=OrderedCommand, epilog=EPILOG)
@submission_options
@copy_options
@option("--wait", "wait_end", is_flag=True, help="Wait until all have ended; exit with the highest exit code.")
@option("--wait-event", "event", default="", metavar="NAME", help="Wait until all jobs have had this event.")
@option("--watch", "watch_output", is_flag=True, help="Write the jobs' output here until they have ended.")
@option("--quiet", is_flag=True, help="Print no ids, and nothing about jobs that failed.")
@option("--dry-run", is_flag=True, help="Print the jobspec as JSON; submit nothing.")
@option("--json", "as_json", is_flag=True, help="Print the ids as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def submit(
    ctx: click.Context,
    /,
    command: tuple[str, ...],
    cc: list[str] | None,
    bcc: list[str] | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Put COMMAND into the queue as a job, and print the job's id."""
    if cc is not None and bcc is not None:
        raise click.UsageError("give --cc or --bcc, not both", ctx)
    job = Submission(ctx, command, stdin=given["input_"])
    if dry_run:
        _show_specs(job.spec, bcc or cc)
        return 0
    with connect(ctx) as client:
        ids = submit_copies(client, job, cc, bcc)
        if not quiet:
            _show_ids(ids, as_json)
        return _stay(client, ids, given, quiet, raw=given["unbuffered"] or job.ntasks == 1)


def _show_specs(spec: dict[str, Any], values: Sequence[str] | None) -> None:
    from fluxlike_cli.output.json import print_json

    for shown in [spec] if values is None else specs(spec, values):
        print_json(shown, compact=True)


def _show_ids(ids: Sequence[int], as_json: bool) -> None:
    if as_json:
        from fluxlike_cli.output.jobs import id_json
        from fluxlike_cli.output.json import print_json

        print_json({"jobs": [id_json(job_id) for job_id in ids]})
        return
    from fluxlike_cli.output.ids import id_text

    click.echo("\n".join(map(id_text, ids)))


def _stay(client: Client, ids: Sequence[int], given: dict[str, Any], quiet: bool, raw: bool) -> int:
    """What follows the submission, as far as it was asked for; gives the exit code."""
    if not (given["event"] or given["watch_output"] or given["wait_end"]):
        return 0
    from fluxlike_cli import waiting

    if given["event"]:
        waiting.wait_event(client, ids, given["event"])
    if given["watch_output"]:
        return waiting.watch(client, ids, label=given["label_io"], quiet=quiet, raw=raw)
    return waiting.wait(client, ids, quiet=quiet) if given["wait_end"] else 0
