"""`fluxlike run`: submit and attach."""

from __future__ import annotations

import os
from typing import Any

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import OrderedCommand, option
from fluxlike_cli.options.submission import Submission, submission_options

EPILOG = """\b
Examples:
  fluxlike run hostname                    one task
  fluxlike run -n 4 -l ./app               four tasks, each line with its task's number
  fluxlike run -N 2 -t 10m ./app           two whole nodes, for ten minutes at most
  echo hello | fluxlike run cat            standard input goes to all tasks
  fluxlike run --input=0 -n 4 ./app <in    ... or to some
  fluxlike run -vv ./app                   with the job's id and events on standard error

Ctrl-C twice cancels the job; Ctrl-C and Ctrl-Z leaves it running.
"""


@click.command(cls=OrderedCommand, epilog=EPILOG)
@submission_options
@option("-v", "--verbose", count=True, help="Print the job's id; -vv: its events, too.")
@option("--dry-run", is_flag=True, help="Print the jobspec as JSON; run nothing.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, /, command: tuple[str, ...], verbose: int, dry_run: bool, **given: Any) -> int:
    """Run COMMAND as a job: its output comes here, and its exit code is ours.

    128+n is the exit code after signal n. --input may name tasks (`0`, `0-3`, `all`) instead of a file."""
    stdin, tasks = _input(given["input_"])
    job = Submission(ctx, command, stdin)
    if dry_run:
        from fluxlike_cli.output.json import print_json

        print_json(job.spec, compact=True)
        return 0
    from fluxlike_cli.attach import attach

    with connect(ctx) as client:
        job_id = client.submit(job.spec, urgency=job.urgency, flags=job.flags)
        if verbose:
            from fluxlike_cli.output.ids import id_text

            click.echo(f"jobid: {id_text(job_id)}", err=True)
        return attach(
            client,
            job_id,
            label=given["label_io"],
            unbuffered=given["unbuffered"],
            stdin=stdin == "pipe",
            show_events=verbose > 1,
            ntasks=job.ntasks,
            stdin_tasks=tasks,
        )


def _input(text: str) -> tuple[str, list[int]]:
    """Where the job's standard input comes from, and which tasks get ours (none named: all)."""
    if not text or text == "all":
        return "" if _stdin_is_null() else "pipe", []
    if text[0].isdecimal():
        from fluxlike.errors import InvalidRequest
        from fluxlike.idset import Idset

        try:
            return "pipe", list(Idset.parse(text))
        except InvalidRequest:
            return text, []
    return text, []


def _stdin_is_null() -> bool:
    """Whether there is nothing to forward: no message for it then."""
    try:
        ours = os.fstat(0)
    except OSError:
        return True  # closed
    return ours.st_rdev == os.stat(os.devnull).st_rdev
