"""`fluxlike keygen`: the keys with which brokers on several hosts trust each other."""

from __future__ import annotations

import click


@click.command()
@click.argument("path", type=click.Path(dir_okay=False))
def keygen(path: str) -> None:
    """Write a new CURVE certificate to PATH, for the `curve_cert` entry of the [bootstrap] table.

    Every broker of the instance needs a copy; whoever can read one can join, so it is readable by you alone.
    A file that exists is not overwritten.

    \b
    Example:
      fluxlike keygen curve.cert
    """
    import zmq

    from fluxlike.config import curve
    from fluxlike.errors import ConfigError

    if not zmq.has("curve"):
        raise ConfigError(
            "this build of ZeroMQ lacks CURVE; `pip install --force-reinstall pyzmq` brings one that has it"
        )
    public, secret = zmq.curve_keypair()
    curve.save(path, public, secret, _metadata())


def _metadata() -> dict[str, str]:
    """Who made the keys and when: for people, no program reads it."""
    import os

    from fluxlike import __version__
    from fluxlike.clock import SystemClock
    from fluxlike_cli.output.times import iso

    return {
        "created": iso(SystemClock().now()),
        "host": os.uname().nodename,
        "userid": str(os.geteuid()),
        "fluxlike-version": __version__,
    }
