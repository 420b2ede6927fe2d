"""`fluxlike shutdown`: end the instance, and return when it is gone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client

POLL = 0.02
"""Seconds between two looks whether the broker's folder is still there, once it has hung up."""

AFTERWARDS = 1.0
"""Seconds for the launcher to remove the folder once nobody lives in it."""


@click.command()
@option("--quiet", is_flag=True, help="Do not tell how it goes.")
@click.pass_context
def shutdown(ctx: click.Context, quiet: bool) -> None:
    """Stop the instance: jobs are cancelled, all brokers end. Returns when it is gone.

    \b
    Example:
      fluxlike shutdown
    """
    from fluxlike.client.uri import socket_path

    with connect(ctx) as client:
        folder = os.path.dirname(socket_path(client.uri))
        identity = _identity(folder)
        _follow(client, quiet)
    _wait_until_gone(folder, identity)


def _follow(client: Client, quiet: bool) -> None:
    """Tell what the instance tells, until it hangs up."""
    from fluxlike.errors import Disconnected
    from fluxlike.protocol.instance import Shutdown, ShutdownProgress

    try:
        # Rank 0 ends the instance; the broker we talk to may be another.
        for progress in client.stream(Shutdown(), ShutdownProgress, rank=0):
            if not quiet:
                click.echo(progress.text, err=True)
        while True:
            client.receive()
    except Disconnected:
        return


def _wait_until_gone(folder: str, identity: tuple[int, int] | None) -> None:
    """Until the launcher has removed the broker's folder; one that took its name is another instance.

    A launcher that was killed removes nothing: then it is enough that nobody lives in the folder any more."""
    from select import select

    empty = 0.0
    while identity is not None and _identity(folder) == identity and empty < AFTERWARDS:
        select([], [], [], POLL)
        empty = 0.0 if _is_inhabited(folder) else empty + POLL


def _is_inhabited(folder: str) -> bool:
    """Whether a living broker or executor holds its lock there."""
    import fcntl

    for name in ("broker.lock", "executor.sock.lock"):
        try:
            with open(os.path.join(folder, name), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            continue
    return False


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
