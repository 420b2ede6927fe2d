"""The examples run, and the page about them shows what runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fluxlike.errors import Unsatisfiable
from fluxlike.ids import encode_f58
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEvents,
    JobEventsReply,
    JobRaise,
    JobsTouched,
    JobWait,
    OutputRead,
    OutputReadReply,
    Submit,
    Submitted,
)
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record

ROOT = Path(__file__).parents[3]
EXAMPLES = ["sdk_blocking.py", "sdk_asyncio.py", "sdk_futures.py"]


class SmallInstance:
    """As much of an instance as the examples ask for: every job ends at once, as its command says."""

    def __init__(self, broker: FakeBroker) -> None:
        self._jobs: list[tuple[list[str], str]] = []
        broker.on(Submit, self._submit)
        broker.on(OutputRead, self._output)
        broker.on(JobWait, lambda request: iter([JobEnds(jobs=[self._record(n) for n in request.ids])]))
        broker.on(JobRaise, lambda request: JobsTouched(ids=request.ids, errors=[]))
        broker.on(JobEvents, self._events)

    def _submit(self, request: Submit) -> Submitted:
        first = len(self._jobs)
        for index, cc in request.jobs:
            spec = request.specs[index]
            if spec["resources"][0]["count"] > 100:
                raise Unsatisfiable("too many nodes")
            self._jobs.append((spec["tasks"][0]["command"], cc or ""))
        return Submitted(ids=list(range(first, len(self._jobs))))

    def _output(self, request: OutputRead) -> OutputReadReply:
        text = self._jobs[request.id][0][-1].encode() + b"\n"
        return OutputReadReply(records=[[0, "stdout", text]], next=1, done=True)

    def _record(self, id: int) -> dict[str, object]:
        command, cc = self._jobs[id]
        code = int(cc or 0)
        result = "failed" if code else "completed"
        return job_record(id, name=command[0], cc=cc, returncode=code, result=result)

    def _events(self, _: JobEvents) -> JobEventsReply:
        rows = [[float(at), name, None] for at, name in enumerate(("submit", "exception", "clean"))]
        return JobEventsReply(events=rows, next=len(rows), done=True)


def run(name: str, uri: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        env={**os.environ, "FLUXLIKE_URI": uri},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


ENDING = [
    "exit 0: completed",
    "exit 1: failed",
    "exit 2: failed",
    "events: submit exception clean",
    "refused: too many nodes",
]


def test_blocking_example_runs(broker: FakeBroker) -> None:
    SmallInstance(broker)
    assert run("sdk_blocking.py", broker.uri) == [
        "task 0 stdout: hello from a job",
        f"{encode_f58(0)} completed, exit code 0",
        *ENDING,
    ]


def test_asyncio_example_runs(broker: FakeBroker) -> None:
    SmallInstance(broker)
    lines = run("sdk_asyncio.py", broker.uri)
    assert sorted(line.split(": ")[1] for line in lines[:3]) == ["hello 0", "hello 1", "hello 2"]
    assert sorted(lines[3:6]) == sorted(f"{encode_f58(n)} completed, exit code 0" for n in range(3))
    assert lines[6:] == ENDING


@pytest.mark.parametrize("name", EXAMPLES)
def test_page_shows_the_example_as_it_is(name: str) -> None:
    page = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
    assert f"```python\n{(ROOT / 'examples' / name).read_text(encoding='utf-8')}```" in page


def test_last_example_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")
    code = page.rpartition("```python\n")[2].partition("```")[0]
    exec(compile(code, "docs/sdk.md", "exec"), {})
