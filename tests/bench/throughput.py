"""How many `true` a second does one durable broker run, and how many do other systems in the same rounds?"""

from __future__ import annotations

from collections.abc import Iterator

from environment import Installation
from ours import CORES, durable, fluxlike
from peers.hq import HYPERQUEUE
from peers.peer import Surroundings
from peers.slurm import SLURM
from peers.spawn_loop import ONE_CORE, TWO_CORES
from peers.xargs import XARGS
from report import Row
from rows import share_row, system_row
from turns import count, in_turns

JOBS = 10_000
PEERS = (ONE_CORE, TWO_CORES, XARGS, HYPERQUEUE, SLURM)
LEAST = {ONE_CORE.name: 0.9, HYPERQUEUE.name: 3.0}
"""Our rate in units of theirs."""

OURS = f"fluxlike, {CORES} cores, durable"


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    jobs, rounds = (1000, 2) if quick else (JOBS, 5)
    systems = [fluxlike(installation, OURS, *durable(installation)), *PEERS]
    found = in_turns(systems, Surroundings(installation.scratch, installation.env), jobs, rounds)
    for system in systems:
        yield system_row(system.name, found, count(system, jobs), small=jobs < JOBS)
    for name, least in LEAST.items():
        what = f"{jobs} x true, in units of {name}"
        yield share_row(what, found, OURS, name, least, small=jobs < JOBS)
