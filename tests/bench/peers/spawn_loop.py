"""A loop in C around posix_spawn: the limit of what can be started here, on one core and on two."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from peers.packages import last_line, need
from peers.peer import Peer, Rate, Surroundings, Unavailable

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawn_loop.c")
WIDTH = {1: 1, 2: 8}
"""Cores -> processes at a time. On one core more than one gain nothing; on two they keep both busy."""


@contextmanager
def started(where: Surroundings, cores: int) -> Iterator[Rate]:
    if len(os.sched_getaffinity(0)) < cores:
        raise Unavailable(f"there are fewer than {cores} cores here")
    program = _compiled(where)

    def rate(count: int) -> float:
        command = [program, str(count), str(WIDTH[cores]), str(cores)]
        done = subprocess.run(command, env=where.env, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"the loop failed: {last_line(done.stderr)}")
        return count / float(done.stdout)

    yield rate


def _compiled(where: Surroundings) -> str:
    program = os.path.join(where.scratch, "spawn_loop")
    compiler = need(["cc"], ["gcc", "libc6-dev"])["cc"]
    done = subprocess.run([compiler, "-O2", "-o", program, SOURCE], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"cc could not compile spawn_loop.c: {last_line(done.stderr)}")
    return program


ONE_CORE = Peer("C loop, one core", partial(started, cores=1))
TWO_CORES = Peer("C loop, two cores", partial(started, cores=2))
