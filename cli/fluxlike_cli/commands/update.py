"""`fluxlike update`: change a job that waits or runs."""

from __future__ import annotations

from typing import Any

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import PlainHelp, option

EPILOG = """\b
Examples:
  fluxlike update ƒuZZybuNNy duration=+1h         an hour more
  fluxlike update ƒuZZybuNNy duration=90m         an hour and a half from its start
  fluxlike update ƒuZZybuNNy duration=inf         no time limit
  fluxlike update ƒuZZybuNNy name=second-try
"""

KEYS = ("duration", "name", "attributes.system.duration", "attributes.system.job.name")


@click.command(cls=PlainHelp, epilog=EPILOG)
@click.argument("job_id", type=parameters.job_id, metavar="ID")
@click.argument("changes", nargs=-1, required=True, metavar="KEY=VALUE...")
@option("-q", "--quiet", is_flag=True, help="Do not print what holds now.")
@option("--json", "as_json", is_flag=True, help="What holds now, as JSON.")
@click.pass_context
def update(ctx: click.Context, job_id: int, changes: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Change the time limit (duration) or the name of a job that waits or runs.

    A duration is 90s, 10m, 2h, 1d or a number of seconds; + and - in front mean more and less than now."""
    updates = dict(map(_assignment, changes))
    with connect(ctx) as client:
        now = client.update(job_id, **updates)
    if as_json:
        from fluxlike_cli.output.json import print_json

        print_json(now)
    elif not quiet:
        click.echo("\n".join(f"{key}={_text(key, value)}" for key, value in now.items()))


def _assignment(text: str) -> tuple[str, str]:
    from fluxlike_cli.group import nearest

    key, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} must be KEY=VALUE, such as duration=+1h")
    if key not in KEYS:
        raise click.UsageError(f"{key!r} cannot be changed.{nearest(key, KEYS)} There are duration and name.")
    return key, value


def _text(key: str, value: Any) -> str:
    from fluxlike.duration import format_duration

    if not key.endswith("duration"):
        return str(value)
    return format_duration(value) if value else "inf"
