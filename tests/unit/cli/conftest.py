"""Commands in this process and in their own, against a broker that says what a test wants."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fluxlike.protocol.jobs import JobEvents, JobEventsReply, OutputRead, OutputReadReply, Submit, Submitted
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike_cli.main import run

JOB = 6731191091817518
JOB_TEXT = "ƒuZZybuNNy"

PROGRAM = [sys.executable, "-c", "from fluxlike_cli.main import main; main()"]


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


Command = Callable[..., Result]


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as fake:
        fake.on(Submit, submitted)
        yield fake


def submitted(request: Submit) -> Submitted:
    """Ids count up from JOB."""
    return Submitted(ids=[JOB + number for number, _ in enumerate(request.jobs)])


@pytest.fixture
def fluxlike(broker: FakeBroker, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line in this process, with the fake broker as its instance."""

    def command(*args: str) -> Result:
        capfd.readouterr()
        code = run(["--uri", broker.uri, *args])
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return command


@pytest.fixture
def process(broker: FakeBroker) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a command line as a process; what is left of it at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*args: str, **attributes: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "FLUXLIKE_URI": broker.uri}
        started.append(subprocess.Popen([*PROGRAM, *args], env=environment, **{**pipes, **attributes}))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


def play(broker: FakeBroker, events: list[list[Any]], output: list[list[Any]] | None = None) -> None:
    """The fake's jobs have had these events and written this output."""
    records = output or []

    def tell(request: JobEvents) -> JobEventsReply:
        return JobEventsReply(events=events[request.since :], next=len(events), done=True)

    def read(request: OutputRead) -> OutputReadReply:
        return OutputReadReply(records=records[request.offset :], next=len(records), done=True)

    broker.on(JobEvents, tell)
    broker.on(OutputRead, read)


BEGINNING: list[list[Any]] = [
    [1.0, "submit", {"urgency": 16}],
    [1.1, "validate", None],
    [1.2, "depend", None],
    [1.3, "priority", {"priority": 16}],
]


def life(status: int = 0) -> list[list[Any]]:
    """All events of a job that ran and ended with this wait status."""
    return [
        *BEGINNING,
        [1.4, "alloc", None],
        [1.5, "start", None],
        [1.6, "finish", {"status": status}],
        [1.7, "release", {"ranks": "all", "final": True}],
        [1.8, "free", None],
        [1.9, "clean", None],
    ]
