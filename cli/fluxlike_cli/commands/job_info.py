"""Commands that only look at a job: info, eventlog, id."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike_cli.targets import Target

KEYS = ("eventlog", "jobspec", "R")
ENCODINGS = ("dec", "f58", "f58plain", "hex", "dothex")


@click.command()
@click.argument("target", type=parameters.target, metavar="ID")
@click.argument("key", type=click.Choice(KEYS), required=False, metavar="[eventlog|jobspec|R]")
@option("--json", "as_json", is_flag=True, help="The record, or the eventlog, as one JSON document.")
@click.pass_context
def info(ctx: click.Context, target: Target, key: str | None, as_json: bool) -> None:
    """Print what the instance keeps about a job: its record, or one part as JSON.

    \b
    Examples:
      fluxlike job info ƒuZZybuNNy                 everything the listing knows
      fluxlike job info ƒuZZybuNNy jobspec | jq .tasks
      fluxlike job info ƒuZZybuNNy R               the resources it was given
      fluxlike job info ƒuZZybuNNy.7               task 7 of an array
    """
    from fluxlike_cli.targets import task_of

    if key is not None and target.index is not None:
        raise click.UsageError(f"a task shares the {key} of its array: ask for that without .{target.index}", ctx)
    with connect(ctx) as client:
        if key is None:
            found = client.job(target.id) if target.index is None else task_of(client, target)
            _show_record({**found.record, "id": str(target)}, as_json)
            return
        value = client.info(target.id, key).get(key)
    if value is None:
        raise _no_value(target.id, key)
    _show_value(key, value, as_json)


def _no_value(job_id: int, key: str) -> Exception:
    from fluxlike.errors import NotFound
    from fluxlike_cli.output.ids import id_text

    name = id_text(job_id)
    return NotFound(f"{name} has no {key} (yet); `fluxlike job eventlog {name}` shows how far it is")


def _show_record(record: dict[str, Any], as_json: bool) -> None:
    from fluxlike_cli.output.json import format_json, print_json
    from fluxlike_cli.output.table import print_table
    from fluxlike_cli.output.times import local

    if as_json:
        print_json(record)
        return

    def text(name: str, value: Any) -> str:
        if value and (name.startswith("t_") or name == "expiration"):
            return local(value)
        return value if isinstance(value, str) else format_json(value, compact=True)

    print_table(("", ""), [(name, text(name, value)) for name, value in record.items() if value not in ("", [], {})])


def _show_value(key: str, value: Any, as_json: bool) -> None:
    from fluxlike_cli.output.eventlog import EventFormatter, event_json
    from fluxlike_cli.output.json import print_json

    if key != "eventlog":
        print_json(value, compact=not as_json)
    elif as_json:
        print_json([event_json(*row) for row in value])
    else:
        form = EventFormatter("json")
        click.echo("\n".join(form.line(*row) for row in value))


@click.command()
@click.argument("job_id", type=parameters.job_id, metavar="ID")
@option("-H", "--human", is_flag=True, help="Times as minutes and steps, like `dmesg -H`.")
@option("-F", "--follow", is_flag=True, help="Go on with new events until the job is inactive.")
@option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@option("--json", "form", flag_value="json", help="Short for --format=json: one object per line.")
@option(
    "-T",
    "--time-format",
    "times",
    type=click.Choice(["raw", "iso", "offset"]),
    default="raw",
    show_default=True,
)
@click.pass_context
def eventlog(ctx: click.Context, job_id: int, human: bool, follow: bool, form: str, times: str) -> None:
    """Print the events of a job, oldest first: all that ever happened to it.

    \b
    Examples:
      fluxlike job eventlog -H ƒuZZybuNNy
      fluxlike job eventlog -F -T offset ƒuZZybuNNy
    """
    from fluxlike_cli.output.eventlog import EventFormatter

    formatter = EventFormatter(form, times, human)
    with connect(ctx) as client:
        for event in client.events(job_id, follow=follow):
            click.echo(formatter.line(event.timestamp, event.name, event.context))


@click.command("id")
@click.argument("ids", nargs=-1, metavar="[ID|-]...")
@option("--to", "kind", type=click.Choice(ENCODINGS), default="dec", show_default=True, help="Encoding to print.")
def id_(ids: tuple[str, ...], kind: str) -> None:
    """Print job ids in another encoding. Needs no instance.

    Without ID, or with `-`, ids are read from standard input, one or more per line.

    \b
    Examples:
      fluxlike job id ƒuZZybuNNy                   6731191091817518
      fluxlike job id --to=f58 6731191091817518    ƒuZZybuNNy
    """
    from fluxlike.ids import decode, encode

    for text in _words(ids):
        click.echo(encode(decode(text), kind))


def _words(ids: tuple[str, ...]) -> Iterator[str]:
    for text in ids or ("-",):
        if text != "-":
            yield text
            continue
        for line in sys.stdin:
            yield from line.split()
