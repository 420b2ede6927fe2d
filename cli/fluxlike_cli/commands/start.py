"""`fluxlike start`: becomes the broker."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from fluxlike_cli.options.declare import OrderedCommand, option

ARGUMENTS = {
    "--size": "test_size",
    "--rank": "rank",
    "--statedir": "statedir",
    "--store": "store",
    "--conf": "conf",
    "--set": "settings",
    "--test-hosts": "test_hosts",
}
"""Options of the broker -> ours."""

EPILOG = """\b
Examples:
  fluxlike start                                 a shell inside an instance of one broker
  fluxlike start -s 4 -- ./workflow.sh           four brokers on this machine, ended with the script
  export FLUXLIKE_URI=$(fluxlike start --detach) an instance in the background
  fluxlike start --statedir ~/flux --detach      one whose jobs survive a restart
  fluxlike start --statedir ~/flux --store postgresql+psycopg://me@db.example.org/jobs --detach
  fluxlike start -S tbon.topo=kary:2 -s 8 -- fluxlike overlay status
"""


@click.command(cls=OrderedCommand, epilog=EPILOG)
@option("-s", "--test-size", type=click.IntRange(min=1), metavar="N", help="Start N brokers on this machine.")
@option("--rank", type=click.IntRange(min=0), metavar="R", help="Rank of this broker among configured hosts.")
@option("--statedir", metavar="DIR", help="Keep jobs here; a later start with it goes on with them.")
@option("--store", metavar="URL", help="Keep jobs in this database, not in the state directory.")
@option("--conf", multiple=True, metavar="FILE", help="Read settings from a TOML file; may be repeated.")
@option("-S", "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change one setting.")
@option("--test-hosts", metavar="HOSTLIST", help="Host names of the test brokers, such as node[0-3].")
@option("--detach", is_flag=True, help="Go to the background when it is up; print its URI.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def start(ctx: click.Context, /, program: tuple[str, ...], **given: Any) -> None:
    """Start an instance and run PROGRAM in it, or a shell.

    The instance ends with the program, and with its exit status. With --detach it stays until `fluxlike
    shutdown`; a program given then is only its first.

    --statedir keeps what a restart needs: jobs, their output, and the way back to tasks that still run. With
    --store, jobs are kept in a PostgreSQL database instead (its driver: pip install 'psycopg[binary]'); give both
    again to go on. With a new directory and the old database, jobs are all there, but output of earlier ones is
    not, and jobs that were running count as lost. Leave the password out of the URL, where others can see it:
    ~/.pgpass is its place."""
    _check(ctx, given)
    command = [*broker_command(), *broker_arguments(given), *(("--", *program) if program else ())]
    os.execv(command[0], command)


def _check(ctx: click.Context, given: dict[str, Any]) -> None:
    if given["test_size"] is not None and given["rank"] is not None:
        raise click.UsageError("--test-size starts all ranks itself: leave out --rank", ctx)
    if given["store"] is not None and given["statedir"] is None and given["rank"] in (None, 0):
        raise click.UsageError("--store keeps only jobs: add --statedir DIR for keys, output and running tasks", ctx)
    if given["test_hosts"] is not None and given["test_size"] is None:
        raise click.UsageError("--test-hosts names the brokers of --test-size, which is missing", ctx)
    for text in given["settings"]:
        if not text.partition("=")[1]:
            raise click.BadParameter(f"{text!r} must be KEY=VALUE", ctx, param_hint="'-S'")


def broker_arguments(given: dict[str, Any]) -> list[str]:
    """The broker's words for what was given to us."""
    arguments: list[str] = []
    for name, key in ARGUMENTS.items():
        value = given[key]
        for item in value if isinstance(value, tuple) else (value,):
            if item is not None:
                arguments += [name, str(item)]
    return [*arguments, "--detach"] if given["detach"] else arguments


def broker_command() -> list[str]:
    """The broker that was installed with us: the program beside our Python, or the module."""
    beside = os.path.join(os.path.dirname(sys.executable), "fluxlike-broker")
    if os.access(beside, os.X_OK):
        return [beside]
    return [sys.executable, "-m", "fluxlike_broker.main"]
