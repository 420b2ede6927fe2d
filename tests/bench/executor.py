"""How much processor time does the executor itself spend on a job, beyond what starting a process costs anybody?"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from environment import Installation
from report import Row

from fluxlike.testing.executor import ExecutorDriver, ExecutorPlace, row, spec, wait_until

SLOTS, JOBS, NULL_JOBS = 64, 2000, 20_000
BUDGET_US, NULL_BUDGET_US = 110.0, 10.0
ENVIRONMENT = {"PATH": "/usr/bin:/bin", **{f"VARIABLE_{n}": f"a value of the usual length {n}" for n in range(29)}}


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    rounds = 3 if quick else 9
    with driver() as broker:
        pairs = [(_per_job(broker, JOBS, at), _posix_spawn()) for at in range(rounds)]
    beyond = statistics.median(ours - plain for ours, plain in pairs)
    ours, plain = (statistics.median(column) for column in zip(*pairs, strict=True))
    facts = {"job_us": ours, "posix_spawn_us": plain, "rounds": rounds}
    detail = f"in all {ours:.0f}, os.posix_spawn in the same rounds {plain:.0f}"
    yield Row(
        "executor: processor time of a job, beyond posix_spawn", beyond, "us", BUDGET_US, detail=detail, facts=facts
    )
    with driver("--mode", "null") as broker:
        null = [_per_job(broker, NULL_JOBS, at) for at in range(rounds)]
    detail = f"min {min(null):.1f}"
    facts = {"rounds": rounds, "least": min(null)}
    yield Row("the same in null mode", statistics.median(null), "us", NULL_BUDGET_US, detail=detail, facts=facts)


@contextmanager
def driver(*options: str) -> Iterator[ExecutorDriver]:
    place = ExecutorPlace()
    process = place.launch(*options)
    try:
        wait_until(place.listening)
        yield ExecutorDriver(place)
    finally:
        process.terminate()
        process.wait(30)
        place.clear()


def _per_job(broker: ExecutorDriver, jobs: int, at: int) -> float:
    """Microseconds, with SLOTS jobs at a time; each row of results acknowledged as it comes."""
    fields = spec("true", env=ENVIRONMENT, cwd="/tmp")
    broker.results.clear()
    began = _processor_time(broker.place.pid)
    sent = done = 0
    while done < jobs:
        more = min(SLOTS - (sent - done), jobs - sent)
        if more:
            broker.start(fields, *(row((at * jobs + sent + n + 1) << 20) for n in range(more)))
            sent += more
        seen = len(broker.results)
        broker.receive(60)
        done += sum(result[3] == "finished" for result in broker.results[seen:])
    return (_processor_time(broker.place.pid) - began) / jobs / 1e3


def _processor_time(pid: int) -> int:
    """Nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def _posix_spawn() -> float:
    """Microseconds of this process for each of as many of the same, without pipes, directories or messages."""
    began = time.process_time_ns()
    running = 0
    for _ in range(JOBS):
        os.posix_spawn("/usr/bin/true", ["true"], ENVIRONMENT, setsid=True, setsigmask=())
        running += 1
        if running == SLOTS:
            os.wait()
            running -= 1
    spent = time.process_time_ns() - began
    for _ in range(running):
        os.wait()
    return spent / JOBS / 1e3
