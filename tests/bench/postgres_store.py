"""How fast is an instance that keeps its jobs in PostgreSQL, in units of one that keeps them in SQLite?"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from environment import Installation
from ours import NULL, durable, fluxlike
from peers.peer import Surroundings, Unavailable
from peers.postgres import postgres
from report import Row
from rows import share_row
from turns import in_turns

JOBS, LEAST = 10_000, 0.5
SQLITE, POSTGRES = "fluxlike on SQLite", "fluxlike on PostgreSQL"
KINDS = {"x true": (), "jobs, null executor": NULL}


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    if importlib.util.find_spec("psycopg") is None:
        raise Unavailable(f"psycopg is missing; run: {installation.python} -m pip install 'psycopg[binary]'")
    jobs, rounds = (500, 2) if quick else (JOBS, 5)
    for kind, options in KINDS.items():
        yield _share(installation, f"{jobs} {kind}", options, jobs, rounds)


def _share(installation: Installation, what: str, options: tuple[str, ...], jobs: int, rounds: int) -> Row:
    where = Surroundings(installation.scratch, installation.env)
    with postgres(where) as url:
        systems = [
            fluxlike(installation, SQLITE, *durable(installation), *options),
            fluxlike(installation, POSTGRES, "--store", url, *durable(installation), *options),
        ]
        found = in_turns(systems, where, jobs, rounds)
    what += ", store in PostgreSQL, in units of SQLite"
    return share_row(what, found, POSTGRES, SQLITE, LEAST, small=jobs < JOBS)
