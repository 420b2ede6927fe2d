"""Run by HyperQueue's own Python: for each number on standard input, that many `true`, and their rate as answer."""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any


def main() -> None:
    from hyperqueue import LocalCluster
    from hyperqueue.cluster import WorkerConfig

    with LocalCluster(worker_config=WorkerConfig(cores=int(sys.argv[1]))) as cluster:
        client = cluster.client()
        for line in sys.stdin:
            sys.stdout.write(f"rate {rate(client, int(line))}\n")
            sys.stdout.flush()


def rate(client: Any, count: int) -> float:
    from hyperqueue import Job

    with tempfile.TemporaryDirectory(prefix="out") as directory:
        job = Job(directory)
        for _ in range(count):
            job.program(["true"])
        began = time.perf_counter()
        seen: list[tuple[float, int]] = []

        def progress(jobs: dict[int, dict[str, Any]]) -> None:
            seen.append((time.perf_counter() - began, sum(job["finished"] for job in jobs.values())))

        submitted = client.submit(job)
        failed = client.connection.wait_for_jobs((submitted.id,), progress)
        if failed:
            raise SystemExit("some tasks failed")
        client.forget(submitted)
    return settled(seen, count, time.perf_counter() - began)


def settled(seen: list[tuple[float, int]], count: int, total: float) -> float:
    """Tasks a second. It tells of its progress once a second, and of its end no sooner than the next time: so the rate
    at the last report before the end is taken, which spares it the wait; if there was none, the whole time."""
    before = [(seconds, finished) for seconds, finished in seen if 0 < finished < count]
    seconds, finished = before[-1] if before else (total, count)
    return finished / seconds


if __name__ == "__main__":
    main()
