"""`fluxlike submit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.copies import check_copies, copies, copy_options, specs
from fluxlike_cli.options.declare import OrderedCommand, option
from fluxlike_cli.options.staying import staying_options
from fluxlike_cli.options.submission import Submission, submission_options

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
@staying_options
@option("--dry-run", is_flag=True, help="Print the jobspec as JSON; submit nothing.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def submit(ctx: click.Context, /, command: tuple[str, ...], dry_run: bool, **given: Any) -> int:
    """Put COMMAND into the queue as a job, and print the job's id."""
    check_copies(ctx)
    job = Submission(ctx, command, stdin=given["input_"])
    cc, bcc = given["cc"], given["bcc"]
    if dry_run:
        _show_specs(job.spec, bcc or cc)
        return 0
    from fluxlike.client.submission import instance_batches
    from fluxlike_cli.following import submit_and_follow

    messages = instance_batches(copies(job.spec, cc, bcc), job.urgency, job.flags)
    total = len(cc or bcc or [""])
    with connect(ctx) as client:
        return submit_and_follow(client, messages, given, total=total, raw=given["unbuffered"] or job.ntasks == 1)


def _show_specs(spec: dict[str, Any], values: Sequence[str] | None) -> None:
    from fluxlike_cli.output.json import print_json

    for shown in [spec] if values is None else specs(spec, values):
        print_json(shown, compact=True)
