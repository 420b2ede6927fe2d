"""The installation that is measured, and instances started from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from peers.peer import Unavailable

import fluxlike
from fluxlike.client.blocking import Client

PATIENCE = 30.0
"""Seconds until an instance that was told to stop must be gone."""

SAID = 300
"""Characters of what a failed command said that are worth a place in the table."""


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

    def statedir(self) -> str:
        """A new state directory on the disk that counts."""
        return tempfile.mkdtemp(prefix="s", dir=self.scratch)

    def run(self, words: Sequence[str], env: dict[str, str] | None = None) -> str:
        """Standard output of a command; raises Unavailable with what it said when it fails."""
        done = subprocess.run(words, env=env or self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            command = " ".join([os.path.basename(words[0]), *words[1:2]])
            raise Unavailable(f"`{command}` failed: {' '.join(done.stderr.split())[:SAID]}")
        return done.stdout

    @contextmanager
    def instance(self, *options: str) -> Iterator[Instance]:
        """A detached instance, gone when the block is left, whatever happened in it."""
        running = Instance(self, options)
        try:
            yield running
        finally:
            running.stop()


class Instance:
    """A detached instance that answers; whoever starts it must stop it."""

    def __init__(self, installation: Installation, options: Sequence[str]) -> None:
        self.installation = installation
        self._options = options
        self._orphans: list[int] = []
        self.start_again()

    def start_again(self) -> None:
        """With the same options; with a state directory it goes on with the jobs it had."""
        command = self.installation.program("start", "--detach", *self._options)
        self.uri = self.installation.run(command).strip()
        self.env = {**self.installation.env, "FLUXLIKE_URI": self.uri}
        with self.client() as client:
            size = int(client.rpc("attr.get", {"name": "size"})["value"])
            self._brokers = [_process(client, "broker.pid", rank) for rank in range(size)]
        self._orphans = []

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
            return [_process(client, "executor.pid", rank) for rank in range(len(self._brokers))]

    def kill(self) -> None:
        """End the brokers at once, with -9; executors stay for those that come after them."""
        self._orphans = self.executors()
        for pid in self._brokers:
            os.kill(pid, signal.SIGKILL)
        self._gone()

    def stop(self) -> None:
        """Returns when the brokers are gone: what is measured next must not share the machine with them."""
        try:
            self.run("shutdown")
        except Unavailable:
            if not self._orphans:
                raise
            # Killed, and it did not come back, which is being told already; its executors wait for it.
            for pid in self._orphans:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        self._gone()

    def _gone(self) -> None:
        """Wait for the end of brokers that were told to go."""
        deadline = time.monotonic() + PATIENCE
        while any(os.path.exists(f"/proc/{pid}") for pid in self._brokers) and time.monotonic() < deadline:
            time.sleep(0.01)


def _process(client: Client, name: str, rank: int) -> int:
    return int(client.rpc("attr.get", {"name": name}, rank=rank)["value"])


def _eligible(client: Client) -> bool:
    return any(job.urgency for job in client.jobs(states=["sched"]))


def _is_ours(name: str) -> bool:
    """Settings of Python or of an enclosing instance that would make the measured commands unlike a user's."""
    return name.startswith(("PYTHON", "FLUX")) or name == "VIRTUAL_ENV"
