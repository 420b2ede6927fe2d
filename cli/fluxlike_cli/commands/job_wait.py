"""Commands that stay with a job: attach, wait-event, wait, status."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.errors import complain
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import JobRecord
    from fluxlike_cli.targets import Target

FAILED = 1
CANNOT_WAIT = 2

HOW_IT_ENDED = (
    "id", "result", "status", "returncode", "exception_type", "exception_severity", "exception_note",
)  # fmt: skip


@click.command()
@click.argument("target", type=parameters.target, metavar="ID")
@option("-l", "--label-io", "label", is_flag=True, help="Put `TASK: ` before each line.")
@option("-u", "--unbuffered", is_flag=True, help="Show output as it comes, not by whole lines.")
@option("-E", "--show-events", is_flag=True, help="Print the job's events to standard error.")
@option("-X", "--no-exceptions", is_flag=True, help="Do not print exceptions.")
@option("--read-only", is_flag=True, help="Only watch: no input, and Ctrl-C does not touch the job.")
@click.pass_context
def attach(
    ctx: click.Context,
    target: Target,
    label: bool,
    unbuffered: bool,
    show_events: bool,
    no_exceptions: bool,
    read_only: bool,
) -> int:
    """Follow a job's output until it ends; exit as the job did.

    Standard input goes to the job. Ctrl-C twice cancels it.

    \b
    Examples:
      fluxlike job attach ƒuZZybuNNy
      fluxlike job attach -l --read-only ƒuZZybuNNy
      fluxlike job attach ƒuZZybuNNy.7             task 7 of an array; only its output
    """
    from fluxlike_cli.attach import attach as follow
    from fluxlike_cli.tasks import attach_array, attach_task

    with connect(ctx) as client:
        if target.index is not None:
            return attach_task(client, target, label, unbuffered)
        job = client.job(target.id)
        if job.array:
            return attach_array(client, target.id, job.array, label)
        return follow(
            client,
            target.id,
            label=label,
            unbuffered=unbuffered,
            stdin=not read_only,
            show_exceptions=not no_exceptions,
            show_events=show_events,
            read_only=read_only,
            ntasks=job.ntasks,
        )


@click.command("wait-event")
@click.argument("job_id", type=parameters.job_id, metavar="ID")
@click.argument("event")
@option("-t", "--timeout", type=parameters.timeout, default=None, help="Give up after this long.")
@option("-q", "--quiet", is_flag=True, help="Print nothing, only wait.")
@option("-v", "--verbose", is_flag=True, help="Print the events before it as well.")
@option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@option(
    "-T",
    "--time-format",
    "times",
    type=click.Choice(["raw", "iso", "offset"]),
    default="raw",
    show_default=True,
)
@click.pass_context
def wait_event(
    ctx: click.Context,
    job_id: int,
    event: str,
    timeout: float | None,
    quiet: bool,
    verbose: bool,
    form: str,
    times: str,
) -> None:
    """Wait until EVENT is in the job's eventlog, and print it.

    Exits with 1 if the job ends without it or the time is up.

    \b
    Examples:
      fluxlike job wait-event ƒuZZybuNNy start
      fluxlike job wait-event -t 30s -q ƒuZZybuNNy clean
    """
    from fluxlike.errors import NotFound
    from fluxlike_cli.output.eventlog import EventFormatter
    from fluxlike_cli.output.ids import id_text

    formatter = EventFormatter(form, times)
    with connect(ctx) as client:
        for row in _events(client, job_id, event, timeout):
            line = formatter.line(*row)
            found = row[1] == event
            if not quiet and (found or verbose):
                click.echo(line)
            if found:
                return
    name = id_text(job_id)
    raise NotFound(f"{name} ended without {event}; `fluxlike job eventlog {name}` tells its story")


def _events(client: Client, job_id: int, event: str, timeout: float | None) -> Iterator[Sequence[Any]]:
    """Rows of the eventlog until the job is inactive. Raises TimedOut."""
    from fluxlike.errors import TimedOut
    from fluxlike.protocol.jobs import JobEvents, JobEventsReply
    from fluxlike_cli.commands.deadline import Deadline

    deadline = Deadline(timeout)
    since, done = 0, False
    while not done:
        try:
            reply = client.call(
                JobEvents(id=job_id, since=since, wait=True), JobEventsReply, timeout=deadline.remaining()
            )
        except TimedOut:
            raise TimedOut(f"{event} did not come within {timeout:g} s") from None
        yield from reply.events
        since, done = reply.next, reply.done


@click.command()
@click.argument("targets", type=parameters.target, nargs=-1, metavar="ID...")
@option("--all", "every", is_flag=True, help="All jobs that are active now; earlier ones do not count.")
@option("-t", "--timeout", type=parameters.timeout, default=None, help="Give up after this long.")
@option("-v", "--verbose", is_flag=True, help="Tell of each job as it ends, not only of failures.")
@click.pass_context
def wait(ctx: click.Context, targets: tuple[Target, ...], every: bool, timeout: float | None, verbose: bool) -> int:
    """Wait until jobs have ended.

    Exits with 0 if all succeeded, 1 if one did not, and 2 if there was nothing to wait for (an unknown id,
    no active job) or the time was up.

    \b
    Examples:
      fluxlike job wait ƒuZZybuNNy
      fluxlike job wait -t 10m --all
      fluxlike job wait ƒuZZybuNNy.7               task 7 of an array
    """
    from fluxlike.errors import FluxlikeError
    from fluxlike_cli.output.progress import Progress

    if every == bool(targets):
        raise click.UsageError("give job ids, or --all", ctx)
    code = 0
    try:
        with connect(ctx) as client:
            ids = _active(client) if every else list(dict.fromkeys(targets))
            with Progress("ended", len(ids), stream=sys.stderr) as bar:
                for target, record in _ends(client, ids, timeout):
                    bar.hide()
                    bar.advance(1, int(not record.succeeded))
                    code = code if record.succeeded else FAILED
                    if verbose or not record.succeeded:
                        click.echo(_outcome(target, record), err=True)
    except FluxlikeError as error:
        complain(str(error))
        return CANNOT_WAIT
    return code


@click.command()
@click.argument("targets", type=parameters.target, nargs=-1, required=True, metavar="ID...")
@option(
    "-e", "--exception-exit-code", "code", type=click.IntRange(0, 255), metavar="CODE",
    help="Exit code that stands for a job that ended by an exception (cancelled, timed out).",
)  # fmt: skip
@option("-j", "--json", "as_json", is_flag=True, help="How each job ended, as JSON.")
@option("-v", "--verbose", is_flag=True, help="How each job ended, as text on standard error.")
@click.pass_context
def status(ctx: click.Context, targets: tuple[Target, ...], code: int | None, as_json: bool, verbose: bool) -> int:
    """Wait until jobs have ended; exit with the largest of their exit codes.

    \b
    Examples:
      fluxlike job status ƒuZZybuNNy; echo $?
      fluxlike job status -e 99 ƒuZZybuNNy ƒuZZybuNNz
    """
    from fluxlike_cli.output.json import print_json

    with connect(ctx) as client:
        ended = dict(_ends(client, list(dict.fromkeys(targets)), None))
    found = [(target, ended[target]) for target in targets if target in ended]
    if verbose:
        click.echo("\n".join(_outcome(*each) for each in found), err=True)
    if as_json:
        print_json(
            [{key: str(target) if key == "id" else record.record.get(key) for key in HOW_IT_ENDED}
             for target, record in found]
        )  # fmt: skip
    return max(_exit_code(record, code) for _, record in found)


def _active(client: Client) -> list[Target]:
    from fluxlike.errors import NotFound
    from fluxlike_cli.targets import Target

    found = [Target(record.id) for record in client.jobs(states=["active"], limit=0)]
    if not found:
        raise NotFound("no job is active, so there is nothing to wait for; `fluxlike jobs -a` lists all")
    return found


def _ends(client: Client, targets: Sequence[Target], timeout: float | None) -> Iterator[tuple[Target, JobRecord]]:
    """The jobs and tasks as they end. Raises TimedOut, and NotFound for one that is not there."""
    from fluxlike.errors import TimedOut
    from fluxlike_cli.commands.deadline import Deadline
    from fluxlike_cli.targets import Target
    from fluxlike_cli.tasks import task_end
    from fluxlike_cli.waiting import ends

    deadline = Deadline(timeout)
    left = len(targets)
    try:
        for record in ends(client, [target.id for target in targets if target.index is None], deadline):
            left -= 1
            yield Target(record.id), record
        for target in targets:
            if target.index is not None:
                record = task_end(client, target, deadline)
                left -= 1
                yield target, record
    except TimedOut:
        raise TimedOut(f"{left} of {len(targets)} jobs have not ended within {timeout:g} s") from None


def _exit_code(record: JobRecord, exception_code: int | None) -> int:
    """A job that an exception ended is no success, whatever its tasks said; nor is one that never ran."""
    if record.exception_severity == 0:
        return max(record.returncode, 1) if exception_code is None else exception_code
    return record.returncode if record.returncode >= 0 else 1


def _outcome(target: Target, record: JobRecord) -> str:
    parts = [str(target), record.result or "ended"]
    if record.result == "failed" and record.returncode > 0:
        parts.append(f"exit code {record.returncode}")
    if record.exception_type:
        parts.append(" ".join(filter(None, (record.exception_type, record.exception_note))))
    return ": ".join(parts)
