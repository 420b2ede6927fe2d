"""`fluxlike submit`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from fluxlike.client.submission import instance_batches
from fluxlike_cli.context import connect
from fluxlike_cli.options.arrays import ArrayPlan, array_options, array_plan
from fluxlike_cli.options.copies import check_copies, copies, copy_options, specs
from fluxlike_cli.options.declare import OrderedCommand, option
from fluxlike_cli.options.staying import staying_options
from fluxlike_cli.options.submission import Submission, submission_options

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client

EPILOG = """\b
Examples:
  fluxlike submit -n 4 -t 30 ./simulate in.dat       four tasks, at most half an hour
  fluxlike submit --cc=1-500 ./step {cc}             five hundred jobs in one message
  fluxlike submit --array=1000000 ./step {cc}        a million tasks, numbered from 0, as one job
  fluxlike submit --each-line=in.txt --max-fails=3 ./step {cc}
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
@array_options
@option(
    "--key", default="", metavar="TEXT", help="Said again with the same key, it gives the same ids and runs nothing."
)
@staying_options
@option("--dry-run", is_flag=True, help="Print the jobspec as JSON; submit nothing.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def submit(ctx: click.Context, /, command: tuple[str, ...], dry_run: bool, **given: Any) -> int:
    """Put COMMAND into the queue as a job, and print the job's id."""
    check_copies(ctx)
    plan = array_plan(ctx)
    job = Submission(ctx, command, stdin=given["input_"])
    cc, bcc = given["cc"], given["bcc"]
    if dry_run:
        _show_specs(job.spec, bcc or cc)
        return 0
    from fluxlike_cli.following import submit_and_follow

    raw = given["unbuffered"] or job.ntasks == 1
    with connect(ctx) as client:
        if plan is not None:
            ids = _submit_array(client, job, plan, given)
            return submit_and_follow(client, ids, given, total=1, raw=raw, tasks=plan.count)
        messages = instance_batches(copies(job.spec, cc, bcc), job.urgency, job.flags, given["key"])
        batches = client.submit_messages(messages)
        return submit_and_follow(client, batches, given, total=len(cc or bcc or [""]), raw=raw)


def _submit_array(client: Client, job: Submission, plan: ArrayPlan, given: dict[str, Any]) -> Iterator[list[int]]:
    yield [
        client.submit_array(
            job.spec,
            None if plan.values is not None else plan.count,
            values=plan.values,
            max_running=given["max_running"],
            max_fails=-1 if given["max_fails"] is None else given["max_fails"],
            urgency=job.urgency,
            flags=job.flags,
            key=given["key"],
        )
    ]


def _show_specs(spec: dict[str, Any], values: Sequence[str] | None) -> None:
    from fluxlike_cli.output.json import print_json

    for shown in [spec] if values is None else specs(spec, values):
        print_json(shown, compact=True)
