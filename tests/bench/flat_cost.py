"""Does a job cost rank 0 the same processor time after many jobs as after few?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any

from calibration import CORE, Piece, Steady
from environment import Installation, Instance
from ours import NULL, durable
from processor import cpu_seconds
from report import Row

from fluxlike.client.blocking import Client
from fluxlike.jobspec.build import from_command

POINTS = (1_000, 10_000, 100_000)
QUICK = (1_000, 3_000)
LAST, PIECES, ENOUGH = 1_000, 5, 3
"""Jobs before each point whose cost is taken, the pieces they are taken in, and how many of these must be quiet."""

CHUNK = 10_000
LIMIT = 1.3


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    yield flatness(installation, QUICK if quick else POINTS, small=quick)


def flatness(installation: Installation, points: Sequence[int], small: bool) -> Row:
    with installation.instance(*durable(installation), *NULL) as instance:
        costs = dict(_costs(instance, points))
    return flat_row(costs, small)


def flat_row(costs: dict[int, Steady], small: bool) -> Row:
    """The dearest point in units of the cheapest."""
    scaled = {point: found.scaled() * 1e6 for point, found in costs.items()}
    shown = ", ".join(f"{cost:.0f} us at {point:,}" for point, cost in scaled.items())
    facts: dict[str, Any] = {
        "us_per_job": {str(point): cost for point, cost in scaled.items()},
        "noisy": any(found.noisy for found in costs.values()),
        "busy": any(found.busy for found in costs.values()),
        "small": small,
    }
    what = f"rank 0's processor time per job, {min(costs):,} to {max(costs):,} jobs, dearest / cheapest"
    return Row(what, max(scaled.values()) / min(scaled.values()), "x", LIMIT, detail=shown, facts=facts)


def _costs(instance: Instance, points: Sequence[int]) -> Iterator[tuple[int, Steady]]:
    done = 0
    with instance.client() as client:
        for point in points:
            while done < point - LAST:
                count = min(CHUNK, point - LAST - done)
                _run(client, count)
                done += count
            yield point, _cost(instance, client)
            done += LAST


def _cost(instance: Instance, client: Client) -> Steady:
    """Seconds of rank 0 per job, over the next thousand."""
    count, pid = LAST // PIECES, instance.brokers()[0]
    pieces = []
    for _ in range(PIECES):
        before, used = CORE.look(process_time), cpu_seconds(pid)
        _run(client, count)
        used = cpu_seconds(pid) - used
        pieces.append(Piece([used / count], before, CORE.look(process_time)))
    return Steady(pieces, ENOUGH)


def _run(client: Client, count: int) -> None:
    spec = from_command(["true"], cwd="/", environment={"PATH": "/usr/bin:/bin"})
    ended = client.wait_many(client.submit_template(spec, map(str, range(count))))
    assert all(job.succeeded for job in ended)
