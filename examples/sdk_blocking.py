"""Submit jobs and follow them. Run it inside an instance:

fluxlike start -- python examples/sdk_blocking.py
"""

from __future__ import annotations

import os
from typing import Any

from fluxlike.client import Client
from fluxlike.config import environment
from fluxlike.errors import Unsatisfiable
from fluxlike.ids import encode_f58
from fluxlike.jobspec.build import from_command


def here(*command: str, **options: Any) -> dict[str, Any]:
    """A jobspec that runs where we are, with the environment that we have."""
    return from_command(command, cwd=os.getcwd(), environment=environment.snapshot(), **options)


def main() -> None:
    with Client() as client:
        # One job: its output as it comes, then how it ended.
        hello = client.submit(here("echo", "hello from a job"))
        for chunk in client.output(hello):
            print(f"task {chunk.task} {chunk.stream}: {chunk.data.decode()}", end="")
        job = client.wait(hello, timeout=60)
        print(f"{encode_f58(job.id)} {job.result}, exit code {job.returncode}")

        # Many jobs from one jobspec, seen in the order in which they end.
        ids = client.submit_template(here("sh", "-c", "exit {cc}"), ["0", "1", "2"])
        for job in client.wait_many(ids):
            print(f"exit {job.cc}: {job.result}")

        # A job that is not wanted any more, and what its eventlog says about it.
        sleeper = client.submit(here("sleep", "600", duration=3600.0))
        client.cancel(sleeper, note="changed my mind")
        print("events:", *(event.name for event in client.events(sleeper)))

        # What can never run is refused when it is submitted, with the reason.
        try:
            client.submit(here("true", nnodes=10_000))
        except Unsatisfiable as error:
            print("refused:", error)


if __name__ == "__main__":
    main()
