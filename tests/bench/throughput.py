"""How many jobs a second, and how many processes does a plain xargs start in that time?"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator

from environment import Installation, Instance
from report import Row

JOBS, CORES = 2000, 64


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    rounds = 2 if quick else 5
    with installation.instance("-S", f"resource.cores={CORES}") as instance:
        pairs = [(_fluxlike(instance), _xargs(instance)) for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    share = statistics.median(first / second for first, second in pairs)
    yield Row(
        f"fluxlike submit --cc=1-{JOBS} --wait true, {CORES} cores",
        ours,
        "jobs/s",
        None,
        detail=f"xargs -P8 in the same rounds {theirs:.0f}/s: {share:.2f} of it",
        facts={"xargs": theirs, "share": share, "rounds": rounds},
    )


def _fluxlike(instance: Instance) -> float:
    began = time.perf_counter()
    instance.run("submit", "--quiet", "--wait", f"--cc=1-{JOBS}", "true")
    return JOBS / (time.perf_counter() - began)


def _xargs(instance: Instance) -> float:
    words = "\n".join(map(str, range(JOBS)))
    began = time.perf_counter()
    subprocess.run(["xargs", "-P8", "-n1", "true"], input=words, text=True, env=instance.env, check=True)
    return JOBS / (time.perf_counter() - began)
