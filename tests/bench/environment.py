"""The installation that is measured, and instances started from it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import fluxlike
from fluxlike.client.blocking import Client

PATIENCE = 30.0
"""Seconds until an instance that was told to stop must be gone."""


class Installation:
    """The virtual environment that runs this very process."""

    def __init__(self, scratch: str) -> None:
        self.scratch = scratch
        self.bin = os.path.join(sys.prefix, "bin")
        self.python = os.path.join(self.bin, "python")
        self.env = {name: value for name, value in os.environ.items() if not _is_ours(name)}
        # Run directories of a run that fails are removed with the scratch directory.
        self.env["TMPDIR"] = scratch
        self.env["PATH"] = self.bin + os.pathsep + self.env.get("PATH", os.defpath)

    @property
    def is_wheel(self) -> bool:
        """Not a checkout, whose modules need not be compiled and which has more places to look for them."""
        return os.path.realpath(fluxlike.__file__).startswith(os.path.realpath(sys.prefix) + os.sep)

    @property
    def idle(self) -> list[str]:
        """The unit of all ratios."""
        return [self.python, "-c", "pass"]

    def program(self, *words: str) -> list[str]:
        return [os.path.join(self.bin, "fluxlike"), *words]

    def run(self, words: Sequence[str], env: dict[str, str] | None = None) -> str:
        """Standard output of a command that must succeed."""
        done = subprocess.run(
            words,
            env=env or self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    @contextmanager
    def instance(self, *options: str) -> Iterator[Instance]:
        """A detached instance, gone when the block is left, whatever happened in it."""
        uri = self.run(self.program("start", "--detach", *options)).strip()
        running = Instance(self, uri)
        try:
            yield running
        finally:
            running.stop()


class Instance:
    def __init__(self, installation: Installation, uri: str) -> None:
        self.installation = installation
        self.uri = uri
        self.env = {**installation.env, "FLUXLIKE_URI": uri}
        with self.client() as client:
            self._brokers = [
                int(client.rpc("attr.get", {"name": "broker.pid"}, rank=rank)["value"])
                for rank in range(int(client.rpc("attr.get", {"name": "size"})["value"]))
            ]

    def client(self) -> Client:
        return Client(self.uri)

    def run(self, *words: str) -> str:
        """Standard output of a `fluxlike` command inside this instance."""
        return self.installation.run(self.installation.program(*words), self.env)

    def settle(self) -> None:
        """Wait for jobs that may run, so that none of them shares the machine with what is measured next."""
        with self.client() as client:
            while client.jobs(states=["depend", "priority", "run", "cleanup"]) or _eligible(client):
                time.sleep(0.002)

    def brokers(self) -> list[int]:
        """Process ids, by rank."""
        return self._brokers

    def executors(self) -> list[int]:
        with self.client() as client:
            return [
                int(client.rpc("attr.get", {"name": "executor.pid"}, rank=rank)["value"])
                for rank in range(len(self._brokers))
            ]

    def stop(self) -> None:
        """Returns when the brokers are gone: what is measured next must not share the machine with them."""
        self.run("shutdown")
        deadline = time.monotonic() + PATIENCE
        while any(os.path.exists(f"/proc/{pid}") for pid in self._brokers) and time.monotonic() < deadline:
            time.sleep(0.01)


def _eligible(client: Client) -> bool:
    return any(job.urgency for job in client.jobs(states=["sched"]))


def _is_ours(name: str) -> bool:
    """Settings of Python or of an enclosing instance that would make the measured commands unlike a user's."""
    return name.startswith(("PYTHON", "FLUX")) or name == "VIRTUAL_ENV"
