"""`fluxlike-broker`: from options to running ranks."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import suppress

from fluxlike.config import environment
from fluxlike.config.load import load
from fluxlike.config.settings import Settings
from fluxlike.errors import ConfigError, FluxlikeError
from fluxlike_broker import bootstrap, directories
from fluxlike_broker.children import close_all_but
from fluxlike_broker.launcher import Launcher
from fluxlike_broker.options import USAGE, Options, read
from fluxlike_broker.plan import Plan


def main() -> None:
    try:
        options = read(sys.argv[1:])
        if options.help:
            sys.stdout.write(USAGE)
            sys.exit(0)
        sys.exit(launch(options))
    except FluxlikeError as error:
        sys.stderr.write(f"fluxlike: {error}\n")
        sys.exit(1)


def launch(options: Options) -> int:
    stores = [] if options.store is None else [f"store.url={options.store}"]
    settings = load(options.conf, [*options.sets, *stores])
    program = _program(options, settings)
    if options.detach:
        return _detached(options, settings)
    return _attached(options, settings, program, -1)


def _attached(options: Options, settings: Settings, program: list[str], report_fd: int) -> int:
    plans, throw_away = plan(options, settings)
    # Not collected first: imports leave next to no garbage, and looking for it took 5 to 10 ms of every start.
    gc.freeze()
    launcher = Launcher(plans, program, throw_away=throw_away)
    launcher.report_fd = report_fd
    launcher.start()
    return launcher.run()


def _program(options: Options, settings: Settings) -> list[str]:
    """What to run on rank 0 once the instance is up."""
    if options.program or options.detach:
        return options.program
    other_rank = options.rank not in (None, 0)
    if other_rank or settings.bootstrap.hosts:
        return []  # a rank of a larger instance: it waits for work
    if os.isatty(0):
        return [environment.shell()]
    raise ConfigError("no program was given and this is no terminal; use -- PROGRAM, or --detach")


def _detached(options: Options, settings: Settings) -> int:
    """Leave a launcher behind that belongs to no terminal; wait until the instance runs, print its URI."""
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    if os.fork():
        os.close(theirs)
        return _wait_for_report(ours)
    os.setsid()
    close_all_but([theirs])
    _leave_terminal()
    status = 1
    try:
        status = _attached(options, settings, options.program, theirs)
    except FluxlikeError as error:
        os.write(theirs, json.dumps({"error": str(error)}).encode())
    except Exception as error:  # noqa: BLE001  standard error is gone: who waits is the only one to tell
        os.write(theirs, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
    finally:
        os._exit(status)


def _leave_terminal() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _wait_for_report(fd: int) -> int:
    with os.fdopen(fd, "rb") as pipe:
        data = pipe.read()
    words = json.loads(data) if data else {"error": "the instance did not start"}
    if "uri" in words:
        sys.stdout.write(words["uri"] + "\n")
        return 0
    sys.stderr.write(f"fluxlike: {words['error']}\n")
    return 1


def plan(options: Options, settings: Settings) -> tuple[list[Plan], str | None]:
    """The ranks to bring up here, and the run directory to throw away afterwards, if it is one of those."""
    statedir = directories.private(os.path.abspath(options.statedir)) if options.statedir else None
    rundir = directories.of_state(statedir) if statedir else directories.throw_away()
    throw_away = None if statedir else rundir
    try:
        if settings.bootstrap.hosts:
            boots = [bootstrap.from_config(settings, options.rank)]
        else:
            boots = bootstrap.local(statedir or rundir, rundir, options.size, options.test_hosts, settings)
        if options.rank is not None and not settings.bootstrap.hosts:
            if not 0 <= options.rank < len(boots):
                raise ConfigError(f"there is no rank {options.rank}; ranks are 0 to {len(boots) - 1}")
            boots = [boots[options.rank]]
        if any(boot.rank == 0 for boot in boots):
            directories.belong(statedir, settings.store.url)
    except FluxlikeError:
        if throw_away is not None:
            directories.remove(throw_away)
        else:
            with suppress(OSError):  # in use, or not empty
                os.rmdir(rundir)
        raise
    return [Plan(boot, settings, rundir, statedir, options.detach) for boot in boots], throw_away


if __name__ == "__main__":
    main()
