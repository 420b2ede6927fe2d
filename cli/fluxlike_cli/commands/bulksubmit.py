"""`fluxlike bulksubmit`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from fluxlike_cli.bulk.inputs import Inputs, combined, separator_of, shuffled, split
from fluxlike_cli.bulk.jobs import BulkJobs, late
from fluxlike_cli.bulk.replacement import Replacement
from fluxlike_cli.context import connect
from fluxlike_cli.options.copies import check_copies, copy_options
from fluxlike_cli.options.declare import OrderedCommand, option
from fluxlike_cli.options.staying import staying_options
from fluxlike_cli.options.submission import flags_of, submission_options

EPILOG = """\b
Examples:
  fluxlike bulksubmit gzip {} ::: *.log                one job for each file
  seq 1 1000 | fluxlike bulksubmit ./step {}           one job for each line of standard input
  fluxlike bulksubmit ./step {} :::: inputs.txt        ... or of a file
  fluxlike bulksubmit ./app {0} {1} ::: a b ::: 1 2 3  all combinations: six jobs
  fluxlike bulksubmit ./app {0} {1} ::: a b :::+ 1 2   side by side: a 1, b 2
  fluxlike bulksubmit -n {} --output={}.out ./app ::: 1 2 4 8
  fluxlike bulksubmit --define=half='int(x)//2' ./app {.half} ::: 10 20
  fluxlike bulksubmit --watch --progress < commands.txt    each line is a whole command

\b
In the command, and in the values of most options:
  {}  {0}  {1}      the input; of the first list, of the second
  {.%}              without its extension: dir/a.log is dir/a
  {./}  {.//}       the name alone, a.log; the directory alone, dir
  {./%}             the name without extension, a
  {1.%}             ... of the second list
  {seq}  {seq1}     the job's number, from 0; from 1
  {.NAME}           what --define=NAME=EXPRESSION makes of the input
  {cc}              the number of the copy, with --cc

An EXPRESSION is arithmetic and text in Python's notation about x, the input, which is a text:
2**int(x), x.split("_")[0], x.zfill(4), "big" if int(x) > 9 else "small". It can call int, float,
str, len, abs, min, max, round and the like, and methods of texts; nothing else: it runs no code.

Lists are read as they are needed, and jobs go out by the thousand: a million lines need little
memory, except with --shuffle. Where one kind of {} is all that differs, the jobs share one jobspec,
and FLUX_JOB_CC holds the input, too."""


def definition(text: str) -> tuple[str, Any]:
    from fluxlike.errors import InvalidRequest
    from fluxlike_cli.bulk.expressions import compiled

    name, equals, expression = text.partition("=")
    if not equals or not name.isidentifier():
        raise click.BadParameter(f"{text!r} must be NAME=EXPRESSION, such as half='int(x)//2'")
    try:
        return name, compiled(expression)
    except InvalidRequest as error:
        raise click.BadParameter(str(error)) from None


@click.command(cls=OrderedCommand, epilog=EPILOG)
@submission_options
@copy_options
@option("--key", default="", metavar="TEXT", help="Said again with the same key and inputs, it runs nothing twice.")
@option("--define", type=definition, multiple=True, metavar="NAME=EXPRESSION", help="Add a form {.NAME} of inputs.")
@option("--shuffle", is_flag=True, help="Submit in random order.")
@option("--sep", default="\\n", metavar="TEXT", help="What stands between inputs in files.  [default: line breaks]")
@staying_options
@option("--dry-run", is_flag=True, help="Print what `fluxlike submit` would be told; submit nothing.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]... [::: INPUT...]")
@click.pass_context
def bulksubmit(ctx: click.Context, /, command: tuple[str, ...], dry_run: bool, **given: Any) -> int:
    """Put one job for each input into the queue, and print the jobs' ids.

    Inputs follow `:::` as words or `::::` as files (`-` is standard input); without either they are the
    lines of standard input. Several lists give all combinations, a list after `:::+` or `::::+` goes side by
    side with the one before. Without COMMAND each input is one."""
    from fluxlike.errors import InvalidRequest

    check_copies(ctx)
    try:
        words, sources = split(command)
        inputs = combined(sources, separator_of(given["sep"]))
    except InvalidRequest as error:
        raise click.UsageError(str(error), ctx) from None
    if given["shuffle"]:
        inputs = shuffled(inputs)
    jobs = BulkJobs(ctx, words, Replacement(dict(given["define"])))
    if dry_run:
        for line in jobs.command_lines(inputs):
            click.echo(line)
        return 0
    return _submit(ctx, jobs, inputs, given)


def _submit(ctx: click.Context, jobs: BulkJobs, inputs: Iterable[Inputs], given: dict[str, Any]) -> int:
    from fluxlike.client.submission import instance_batches
    from fluxlike_cli.following import submit_and_follow

    messages = instance_batches(jobs.instances(inputs), given["urgency"], flags_of(given), given["key"])
    with connect(ctx) as client:
        batches = client.submit_messages(messages)
        return submit_and_follow(client, batches, given, total=None, raw=given["unbuffered"])


late(bulksubmit)
