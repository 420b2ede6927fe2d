"""GNU xargs: eight processes at a time, nothing remembered, nothing captured."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from peers.packages import need
from peers.peer import Peer, Rate, Surroundings

WIDTH = 8


@contextmanager
def started(where: Surroundings) -> Iterator[Rate]:
    program = need(["xargs"], ["findutils"])["xargs"]

    def rate(count: int) -> float:
        words = "\n".join(map(str, range(count)))
        began = time.perf_counter()
        subprocess.run([program, f"-P{WIDTH}", "-n1", "true"], input=words, text=True, env=where.env, check=True)
        return count / (time.perf_counter() - began)

    yield rate


XARGS = Peer(f"xargs -P{WIDTH}", started)
