"""The same with asyncio, where several things go on at once. Run it inside an instance:

fluxlike start -- python examples/sdk_asyncio.py
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from fluxlike.client import AsyncClient, JobRecord
from fluxlike.config import environment
from fluxlike.errors import Unsatisfiable
from fluxlike.ids import encode_f58
from fluxlike.jobspec.build import from_command


def here(*command: str, **options: Any) -> dict[str, Any]:
    """A jobspec that runs where we are, with the environment that we have."""
    return from_command(command, cwd=os.getcwd(), environment=environment.snapshot(), **options)


async def run(client: AsyncClient, *command: str) -> JobRecord:
    """Submit a command, show its output as it comes, and give the job when it has ended."""
    id = await client.submit(here(*command))
    async for chunk in client.output(id):
        print(f"{encode_f58(id)} task {chunk.task} {chunk.stream}: {chunk.data.decode()}", end="")
    return await client.wait(id, timeout=60)


async def main() -> None:
    async with AsyncClient() as client:
        # Three jobs at once over one connection.
        for job in await asyncio.gather(*(run(client, "echo", f"hello {n}") for n in range(3))):
            print(f"{encode_f58(job.id)} {job.result}, exit code {job.returncode}")

        # Many jobs from one jobspec, seen in the order in which they end.
        ids = await client.submit_template(here("sh", "-c", "exit {cc}"), ["0", "1", "2"])
        async for job in client.wait_many(ids):
            print(f"exit {job.cc}: {job.result}")

        # A job that is not wanted any more, and what its eventlog says about it.
        sleeper = await client.submit(here("sleep", "600", duration=3600.0))
        await client.cancel(sleeper, note="changed my mind")
        print("events:", *[event.name async for event in client.events(sleeper)])

        # What can never run is refused when it is submitted, with the reason.
        try:
            await client.submit(here("true", nnodes=10_000))
        except Unsatisfiable as error:
            print("refused:", error)


if __name__ == "__main__":
    asyncio.run(main())
