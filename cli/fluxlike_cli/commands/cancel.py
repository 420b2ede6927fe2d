"""`fluxlike cancel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fluxlike_cli.commands.parameters import target
from fluxlike_cli.context import connect
from fluxlike_cli.errors import report_untouched
from fluxlike_cli.options.declare import PlainHelp, option
from fluxlike_cli.options.states import active_states

if TYPE_CHECKING:
    from fluxlike.protocol.jobs import JobsTouched
    from fluxlike_cli.targets import Target

EPILOG = """\b
Examples:
  fluxlike cancel ƒuZZybuNNy
  fluxlike cancel -m "wrong input" ƒuZZybuNNy ƒuZZybuNNz
  fluxlike cancel ƒuZZybuNNy.7            task 7 of an array
  fluxlike cancel --all -S pending        all that have not started
  fluxlike cancel --all -n                what would be cancelled
"""


@click.command(cls=PlainHelp, epilog=EPILOG)
@click.argument("targets", type=target, nargs=-1, metavar="[ID]...")
@option("--all", "every", is_flag=True, help="All active jobs.")
@option(
    "-S", "--states", type=active_states, metavar="STATE,...",
    help="All jobs in these states: pending, running, sched, ...",
)  # fmt: skip
@option("-m", "--message", "note", default="", metavar="NOTE", help="Why; kept in the jobs' eventlogs.")
@option("-n", "--dry-run", is_flag=True, help="Change nothing, tell what would be cancelled.")
@option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@option("--json", "as_json", is_flag=True, help="Ids and errors as JSON.")
@click.pass_context
def cancel(
    ctx: click.Context,
    targets: tuple[Target, ...],
    every: bool,
    states: tuple[str, ...] | None,
    note: str,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Cancel jobs, waiting or running.

    Tasks get SIGTERM and, after a few seconds, SIGKILL. Exits with 1 if a job could not be cancelled."""
    if bool(targets) == bool(every or states):
        raise click.UsageError("give job ids, or --all, or --states", ctx)
    from fluxlike.protocol.jobs import JobRaise, JobsTouched
    from fluxlike_cli.targets import ids_of

    wanted = [] if targets else list(states or ("active",))
    with connect(ctx) as client:
        names = ids_of(client, targets)
        request = JobRaise(ids=list(names), type="cancel", severity=0, note=note, states=wanted, dry_run=dry_run)
        touched = client.call(request, JobsTouched)
    if as_json:
        _show_json(touched, dry_run)
    else:
        report_untouched(touched, names)
        if not quiet:
            _show(touched.ids, dry_run, names)
    return 1 if touched.errors else 0


def _show_json(touched: JobsTouched, dry_run: bool) -> None:
    from fluxlike_cli.output.jobs import id_json
    from fluxlike_cli.output.json import print_json

    errors = [{**id_json(number), "code": code, "error": text} for number, code, text in touched.errors]
    print_json({"canceled": [id_json(number) for number in touched.ids], "errors": errors, "dry_run": dry_run})


def _show(ids: Sequence[int], dry_run: bool, names: dict[int, str]) -> None:
    """Ids only where the user does not know them: those that a dry run found."""
    from fluxlike_cli.output.ids import id_text

    jobs = "1 job" if len(ids) == 1 else f"{len(ids)} jobs"
    if dry_run:
        click.echo("".join(f"{names.get(number) or id_text(number)}\n" for number in ids), nl=False)
        click.echo(f"Would cancel {jobs}", err=True)
    elif not names:
        click.echo(f"Canceled {jobs}")
