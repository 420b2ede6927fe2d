"""How long does a question take to a broker that is so many hops away, and back?"""

from __future__ import annotations

import time
from collections.abc import Iterator

from calibration import steadily
from environment import Installation, Instance
from report import Row
from rows import latency_row

from fluxlike.protocol.instance import Ping, Pong

BUDGETS = {0: 0.12, 1: 0.2, 3: 0.4}
"""Hops -> milliseconds."""


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    rounds = 100 if quick else 400
    # A chain, so that a rank is as many hops from rank 0 as its number says.
    with installation.instance("-s", "8", "-S", "tbon.topo=kary:1") as instance:
        for hops, limit in BUDGETS.items():
            found = steadily(lambda rank=hops: _pings(instance, rank, rounds))  # type: ignore[misc]
            yield latency_row(f"broker.ping by the client, {hops} hops", found, limit)


def _pings(instance: Instance, rank: int, rounds: int) -> list[float]:
    taken = []
    with instance.client() as client:
        for number in range(-20, rounds):
            began = time.perf_counter()
            pong = client.call(Ping(), Pong, rank=rank)
            if number >= 0:
                taken.append(time.perf_counter() - began)
            assert pong.rank == rank, pong
    return taken
