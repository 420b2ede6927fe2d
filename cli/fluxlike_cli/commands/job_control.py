"""Commands that change a job: submit, kill, raise, urgency."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.errors import report_untouched
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike_cli.targets import Target


@click.command()
@click.argument("file", type=click.File("r"), default="-")
@option("--urgency", type=parameters.urgency, default="default", help="0 to 31, or hold, default, expedite.")
@option("--flags", default="", metavar="FLAG,...", help="Submit flags, such as waitable or debug.")
@click.pass_context
def submit(ctx: click.Context, file: TextIO, urgency: int, flags: str) -> None:
    """Submit the jobspec in FILE, JSON or YAML, and print the job's id.

    Without FILE, or with `-`, it is read from standard input.

    \b
    Examples:
      fluxlike job submit job.yaml
      fluxlike submit --dry-run -n4 hostname | fluxlike job submit
    """
    from fluxlike.jobspec.parse import loads
    from fluxlike_cli.output.ids import id_text

    if file.isatty():
        raise click.UsageError("no jobspec given: name a file, or pipe one in", ctx)
    spec = loads(file.read())
    with connect(ctx) as client:
        job_id = client.submit(spec, urgency=urgency, flags=tuple(f for f in flags.split(",") if f))
    click.echo(id_text(job_id))


@click.command()
@click.argument("targets", type=parameters.target, nargs=-1, required=True, metavar="ID...")
@option(
    "-s",
    "--signal",
    "signum",
    type=parameters.signal,
    default="TERM",
    show_default=True,
    help="Name or number.",
)
@click.pass_context
def kill(ctx: click.Context, targets: tuple[Target, ...], signum: int) -> int:
    """Send a signal to all tasks of running jobs; ID.INDEX is one task of an array.

    The job decides what the signal means to it; `fluxlike cancel` ends a job for sure.

    \b
    Example:
      fluxlike job kill -s USR1 ƒuZZybuNNy
    """
    from fluxlike.protocol.jobs import JobKill, JobsTouched
    from fluxlike_cli.targets import ids_of

    with connect(ctx) as client:
        names = ids_of(client, targets)
        touched = client.call(JobKill(ids=list(names), signum=signum), JobsTouched)
    report_untouched(touched, names)
    return 1 if touched.errors else 0


@click.command("raise")
@click.argument("targets", type=parameters.target, nargs=-1, required=True, metavar="ID...")
@option(
    "-s",
    "--severity",
    type=click.IntRange(0, 7),
    default=0,
    metavar="N",
    help="0 ends the job; 1 to 7 only inform.",
)
@option("-t", "--type", "kind", default="cancel", show_default=True, help="Name of the exception.")
@option("-m", "--message", "note", default="", metavar="NOTE", help="Why; kept in the job's eventlog.")
@click.pass_context
def raise_(ctx: click.Context, targets: tuple[Target, ...], severity: int, kind: str, note: str) -> int:
    """Raise an exception on jobs.

    \b
    Examples:
      fluxlike job raise -m "wrong input" ƒuZZybuNNy
      fluxlike job raise -s 3 -t checkpoint -m "step 4 is slow" ƒuZZybuNNy
    """
    from fluxlike.protocol.jobs import JobRaise, JobsTouched
    from fluxlike_cli.targets import ids_of

    if not kind or any(c.isspace() for c in kind):
        raise click.BadParameter("must be one word", ctx, param_hint="--type")
    with connect(ctx) as client:
        names = ids_of(client, targets)
        touched = client.call(JobRaise(ids=list(names), type=kind, severity=severity, note=note), JobsTouched)
    report_untouched(touched, names)
    return 1 if touched.errors else 0


@click.command()
@click.argument("job_id", type=parameters.job_id, metavar="ID")
@click.argument("value", type=parameters.urgency, metavar="N|hold|default|expedite")
@option("-v", "--verbose", is_flag=True, help="Print the old and the new urgency.")
@click.pass_context
def urgency(ctx: click.Context, job_id: int, value: int, verbose: bool) -> None:
    """Change how urgent a waiting job is: 0 (hold) to 31 (expedite), 16 by default.

    \b
    Examples:
      fluxlike job urgency ƒuZZybuNNy hold         keep it from starting
      fluxlike job urgency ƒuZZybuNNy default      let it go again
    """
    with connect(ctx) as client:
        old = client.urgency(job_id, value)
    if verbose:
        click.echo(f"urgency {old} -> {value}")
