"""The `fluxlike` program: the table of its commands, and what happens around each of them."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from fluxlike_cli.deferred import defer

if TYPE_CHECKING:
    import click

COMMANDS: dict[str, tuple[str, str]] = {
    "start": ("fluxlike_cli.commands.start:start", "Start an instance and run a program in it."),
    "submit": ("fluxlike_cli.commands.submit:submit", "Put jobs into the queue; print their ids."),
    "bulksubmit": ("fluxlike_cli.commands.bulksubmit:bulksubmit", "Put one job for each input into the queue."),
    "run": ("fluxlike_cli.commands.run:run", "Run one job here: its output, its exit code."),
    "jobs": ("fluxlike_cli.commands.jobs:jobs", "List jobs."),
    "cancel": ("fluxlike_cli.commands.cancel:cancel", "Cancel jobs."),
    "job": ("fluxlike_cli.commands.job:job", "Look at single jobs and steer them."),
    "watch": ("fluxlike_cli.commands.watch:watch", "Write the output of many jobs here."),
    "update": ("fluxlike_cli.commands.update:update", "Change a job that waits or runs."),
    "pgrep": ("fluxlike_cli.commands.pgrep:pgrep", "Find jobs by name or range of ids."),
    "pkill": ("fluxlike_cli.commands.pgrep:pkill", "Cancel jobs by name or range of ids."),
    "queue": ("fluxlike_cli.commands.queue:queue", "Show the queue, stop and start it, wait until it is empty."),
    "resource": ("fluxlike_cli.commands.resource:resource", "Show nodes; drain and undrain them."),
    "overlay": ("fluxlike_cli.commands.overlay:overlay", "Show the tree of brokers."),
    "exec": ("fluxlike_cli.commands.exec_:exec_", "Run a command on ranks, outside the queue."),
    "ping": ("fluxlike_cli.commands.ping:ping", "Measure the way to a rank and back."),
    "uptime": ("fluxlike_cli.commands.uptime:uptime", "Show how the instance is."),
    "dmesg": ("fluxlike_cli.commands.dmesg:dmesg", "Show the brokers' log."),
    "getattr": ("fluxlike_cli.commands.attr:getattr_", "Print one attribute of the instance."),
    "lsattr": ("fluxlike_cli.commands.attr:lsattr", "List the instance's attributes."),
    "shutdown": ("fluxlike_cli.commands.shutdown:shutdown", "Stop the instance."),
    "config": ("fluxlike_cli.commands.config:config", "Look at settings and check files of them."),
    "hostlist": ("fluxlike_cli.commands.hostlist:hostlist", "Put host names together and take them apart."),
    "idset": ("fluxlike_cli.commands.idset:idset", "Put sets of numbers together and take them apart."),
    "R": ("fluxlike_cli.commands.r:r", "Read and combine sets of resources."),
    "completion": ("fluxlike_cli.commands.completion:completion", "Print what a shell needs to complete commands."),
    "keygen": ("fluxlike_cli.commands.keygen:keygen", "Make the key that joins brokers into one instance."),
    "version": ("fluxlike_cli.commands.version:version", "Print versions."),
}

HELP = """Run programs on a tree of brokers, with a queue that explains itself.

Commands talk to the instance that FLUXLIKE_URI names; inside `fluxlike start` it is set."""

EPILOG = """\b
Examples:
  fluxlike start -s 4 -- bash                an instance of four brokers, and a shell in it
  fluxlike run -n 2 hostname                 run two tasks and see their output
  fluxlike submit --cc=1-100 ./step {cc}     a hundred jobs in one message
  fluxlike jobs -a                           what became of them
  export FLUXLIKE_URI=$(fluxlike start --detach)

`fluxlike COMMAND --help` tells more about each."""

# click imports these for corners that few command lines reach: tidying docstrings for --help, options that
# are uuids. With what they import in turn they are a quarter of click's import time, and that is most of a
# short command's.
SELDOM_USED = ("inspect", "uuid")

# Objects. Imports make tens of thousands, all of which stay; looking through them for garbage again and again
# took a tenth of a short command. One that stays with a job still has its garbage collected.
COLLECT_AFTER = 100_000


def program() -> click.Group:
    """The whole command, made when called: importing this module must not import click."""
    import click

    from fluxlike import __version__
    from fluxlike_cli.context import Globals
    from fluxlike_cli.group import LazyGroup
    from fluxlike_cli.options.declare import Option

    @click.pass_context
    def fluxlike(ctx: click.Context, uri: str | None) -> None:
        ctx.obj = Globals(uri)

    def show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"fluxlike {__version__}")
            ctx.exit()

    return LazyGroup(
        "fluxlike",
        table=COMMANDS,
        callback=fluxlike,
        help=HELP,
        epilog=EPILOG,
        params=[
            Option(["--uri"], metavar="URI", help="Instance to talk to, instead of FLUXLIKE_URI."),
            Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=show_version,
                help="Print the version and exit.",
            ),
        ],
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def main() -> NoReturn:
    gc.set_threshold(COLLECT_AFTER)
    defer(SELDOM_USED)
    _open_streams()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the parts that would answer it were being imported
        code = 130
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    # Taking the interpreter apart module by module takes as long as starting it. There is nothing left to lose:
    # output is flushed, no thread runs, and sockets close with the process.
    os._exit(code)


def run(args: list[str]) -> int:
    """Run one command line; gives the exit status. Errors meant for people are printed, not raised."""
    from fluxlike_cli.errors import EXPECTED, exit_code, report

    try:
        code = _invoke(args)
        # Before the end, where a reader that is gone could not be answered any more.
        sys.stdout.flush()
    except EXPECTED as error:
        report(error)
        return exit_code(error)
    return code


def _invoke(args: list[str]) -> int:
    """The status that the command gives, by returning it or by leaving with it."""
    result: object
    try:
        result = program().main(args, prog_name="fluxlike", standalone_mode=False)
    except SystemExit as leave:
        result = leave.code
    return result if isinstance(result, int) else 0


def _open_streams() -> None:
    """Python has None for a standard stream that was closed before we were started (`fluxlike jobs >&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  stays open as long as we run
