"""The command line of `fluxlike-broker`. `fluxlike start` checks and explains; this only reads."""

from __future__ import annotations

import getopt
from dataclasses import dataclass, field

from fluxlike.errors import ConfigError

USAGE = """\
usage: fluxlike-broker [--size N] [--rank R] [--statedir DIR] [--store URL] [--conf FILE]...
                       [--set KEY=VALUE]... [--test-hosts HOSTS] [--detach] [--] [PROGRAM ARGS...]
The broker program. People use `fluxlike start`, whose --help explains the options.
"""


@dataclass
class Options:
    size: int | None = None
    rank: int | None = None
    statedir: str | None = None
    store: str | None = None
    conf: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    test_hosts: str = ""
    detach: bool = False
    help: bool = False
    program: list[str] = field(default_factory=list)


def read(argv: list[str]) -> Options:
    names = ["size=", "rank=", "statedir=", "store=", "conf=", "set=", "test-hosts=", "detach", "help"]
    try:
        found, program = getopt.getopt(argv, "h", names)
    except getopt.GetoptError as error:
        raise ConfigError(f"{error}\n{USAGE}") from error
    options = Options(program=program)
    for name, value in found:
        _apply(options, name.lstrip("-"), value)
    return options


def _apply(options: Options, name: str, value: str) -> None:
    if name in ("size", "rank"):
        if not value.isdigit():
            raise ConfigError(f"--{name} takes a number, not {value!r}")
        setattr(options, name, int(value))
    elif name in ("detach", "help", "h"):
        setattr(options, "help" if name == "h" else name, True)
    elif name == "statedir":
        options.statedir = value
    elif name == "store":
        options.store = value
    elif name == "test-hosts":
        options.test_hosts = value
    else:
        (options.conf if name == "conf" else options.sets).append(value)
