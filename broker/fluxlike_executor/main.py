"""The program `fluxlike-executor`, and `serve` for a launcher that forks it from a warm process."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from fluxlike_executor import lock, process
from fluxlike_executor.ending import Ending
from fluxlike_executor.executor import Executor
from fluxlike_executor.instance import Instance
from fluxlike_executor.log import warn
from fluxlike_executor.loop import Loop
from fluxlike_executor.null import NullExecutor
from fluxlike_executor.runner import MODES, Runner
from fluxlike_executor.server import Server

ORPHAN_TIMEOUT = 30.0
"""Seconds to wait for the first broker. It starts the executor itself, and says hello within a second."""

CANNOT_LISTEN = 2
ALREADY_SERVED = 3


def main() -> int:
    import argparse  # not needed by serve, and not small

    parser = argparse.ArgumentParser(prog="fluxlike-executor", description="Runs the tasks of one broker.")
    parser.add_argument("--socket", required=True, metavar="PATH", help="unix socket to serve the broker on")
    parser.add_argument(
        "--orphan-timeout",
        type=float,
        default=ORPHAN_TIMEOUT,
        metavar="S",
        help="seconds without a first broker after which to exit (default %(default)s)",
    )
    parser.add_argument(
        "--parent-fd", type=int, metavar="N", help="exit if this descriptor closes before a broker came"
    )
    parser.add_argument(
        "--mode", choices=MODES, default=MODES[0], help="null: run nothing, say at once that each job ended well"
    )
    options = parser.parse_args()
    return serve(options.socket, options.orphan_timeout, parent_fd=options.parent_fd, mode=options.mode)


def serve(
    socket_path: str,
    orphan_timeout: float,
    *,
    close: Sequence[int] = (),
    parent_fd: int | None = None,
    mode: str = MODES[0],
) -> int:
    """Runs the executor in this process until it is told to end or left alone; answers the exit code.

    Fit for a child just forked from a larger program, in its main thread: signal handlers of the parent are dropped,
    the descriptors in `close` are closed and no others. On return nothing of any job is left, nor is the socket.
    """
    for fd in close:
        os.close(fd)
    process.own_descriptors()
    process.reset_signals()
    process.detach()
    path = os.path.abspath(socket_path)
    held = lock.acquire(path + ".lock")
    if held is None:
        warn(f"{path}: served by another executor, process {lock.holder(path + '.lock')}")
        return ALREADY_SERVED
    try:
        return _serve(path, orphan_timeout, parent_fd, mode)
    finally:
        lock.release(held, path + ".lock")


def _serve(path: str, orphan_timeout: float, parent_fd: int | None, mode: str) -> int:
    heir = os.path.exists(path)
    try:
        listener = _listen(path)
    except OSError as error:
        warn(f"{path}: {error.strerror or error}")
        return CANNOT_LISTEN
    process.become_subreaper()
    loop = Loop()
    nobody = Instance.unknown(orphan_timeout)
    executor: Runner = NullExecutor(nobody) if mode == "null" else Executor(loop, nobody, heir=heir)
    ending = Ending(loop, executor)
    server = Server(loop, listener, executor, ending)
    if parent_fd is not None:
        server.watch_parent(parent_fd)
    undo = process.on_signals(loop, child=executor.reap, end=ending.begin)
    # What exists now stays, and jobs hold no cycles: the collector has next to nothing to find. Not collected first:
    # that would touch, and so copy, every page shared with the process this one was forked from.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        return loop.run(server.each_pass)
    finally:
        with suppress(FileNotFoundError):  # its whole directory may be gone by now
            os.unlink(path)
        server.close()
        undo()
        loop.close()


def _listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.path.exists(path):
        os.unlink(path)  # we hold the lock, so whoever served it is gone
    mask = os.umask(0o177)  # for this call only: tasks inherit it
    try:
        listener.bind(path)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(mask)
    listener.listen(16)
    return listener


if __name__ == "__main__":
    sys.exit(main())
