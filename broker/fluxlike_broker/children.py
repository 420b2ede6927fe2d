"""Forking brokers and executors from one warm parent."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence

from fluxlike_broker.daemon import Broker
from fluxlike_broker.directories import RankLock, is_held, remove
from fluxlike_broker.log import open_log
from fluxlike_broker.plan import Plan
from fluxlike_executor.main import serve

DUPLICATE = 3
"""Exit status of a broker whose rank lives already."""

PATIENCE = 10.0
"""Seconds for the executor to end after its broker, when nobody else is there to clear up."""


def fork(work: Callable[[], int], keep: Sequence[int], log_path: str | None) -> int:
    """Run `work` in a child of its own session; it never returns here. Returns the pid.

    Of what is open only `keep` stays: a broker that outlives its caller must not hold the caller's pipes."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        close_all_but(keep)
        _redirect(log_path)
        status = work()
    except BaseException:  # noqa: BLE001  a child must never run on in the parent's code
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Skips what an interpreter does at its end: nothing of the parent's may be flushed or removed twice, and a
        # store thread that is still importing is not waited for.
        os._exit(status)


def close_all_but(keep: Sequence[int]) -> None:
    """Close every descriptor above standard error that is not named."""
    first = 3
    for fd in sorted(keep):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _redirect(log_path: str | None) -> None:
    """No terminal input; output to nobody; errors to the log file, or where the launcher's went."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    if log_path is not None:
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 2)
        os.close(log)


def run_broker(plan: Plan) -> int:
    launcher = os.getppid()
    lock = RankLock(plan.folder)
    if not lock.take():
        return DUPLICATE
    ring = open_log(plan.rank, plan.settings.log)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # an executor started anew is nobody's zombie
    # Jobs are acyclic and many: the defaults would look through all of them again and again.
    gc.set_threshold(50_000, 50, 1000)

    async def live() -> int:
        return await Broker(plan, ring).run()

    status = asyncio.run(live())
    if os.getppid() != launcher and not plan.durable:
        _leave_nothing(plan)
    return status


def _leave_nothing(plan: Plan) -> None:
    """The launcher was killed, so it cannot remove the run directory. Each rank removes its part, the last one all."""
    deadline = time.monotonic() + PATIENCE
    while is_held(plan.executor_lock) and time.monotonic() < deadline:
        select.select([], [], [], 0.02)
    remove(plan.folder)
    if not any(name.isdigit() for name in os.listdir(plan.rundir)):
        remove(plan.rundir)


def run_executor(plan: Plan) -> int:
    return serve(plan.executor_socket, plan.orphan_timeout, mode=plan.settings.exec.mode)
