"""An acknowledged job survives the loss of power: its rows are on disk before the reply leaves.

A copy of the files would prove nothing, for it reads what the kernel holds in memory. So the kernel is asked: strace
shows what was written, when that was on disk, and when the client was told.
"""

from __future__ import annotations

import shutil
import struct
import subprocess

import pytest

from fluxlike.client.blocking import Client
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.jobs import Submit, SubmitArray, Submitted
from fluxlike.testing import strace
from fluxlike.testing.instance import FLUXLIKE, Instance, Site

pytestmark = pytest.mark.system

ONE_BY_ONE, PIPELINED = 25, 50

SPEC = from_command(["true"], cwd="/", environment={"PATH": "/usr/bin:/bin"})


class Traced:
    """An instance of one rank under strace, from its first moment to its end."""

    def __init__(self, site: Site, *, durable: bool) -> None:
        assert shutil.which("strace"), "strace is not installed; as root: apt-get install -y strace"
        self._path = site.root / "trace"
        statedir = "state" if durable else ""
        command = [FLUXLIKE, "start", *site.options(1, statedir=statedir), "--detach"]
        self._tracer = subprocess.Popen(
            ["strace", *strace.OPTIONS, "-o", str(self._path), *command],
            cwd=site.root,
            env=site.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._tracer.stdout is not None
        uri = self._tracer.stdout.readline().strip()
        self.flux = Instance(site, uri, site.root / statedir if durable else None)
        site.instances.append(self.flux)
        self.flux.settle()
        self.replies: dict[bytes, bytes] = {}

    def told(self, marker: str, reply: Submitted) -> None:
        """The row of the first job has the marker, and the reply its id."""
        self.replies[marker.encode()] = struct.pack(">Q", reply.ids[0])

    def faults(self) -> dict[bytes, str]:
        """The instance ends here, and the tracer with it: only then is its record whole."""
        self.flux.stop()
        assert self._tracer.stdout is not None
        self._tracer.stdout.close()
        self._tracer.wait(20)
        with open(self._path) as lines:
            return strace.told_too_early(strace.calls(lines), self.replies)


def submission(marker: str) -> Submit:
    return Submit(specs=[SPEC], jobs=[[0, marker]])


def one_by_one(traced: Traced, client: Client) -> None:
    for number in range(ONE_BY_ONE):
        marker = f"<alone {number:04}>"
        traced.told(marker, client.call(submission(marker), Submitted))


def pipelined(traced: Traced, client: Client) -> None:
    tags = {}
    for number in range(PIPELINED):
        marker = f"<among many {number:04}>"
        tags[client.post(submission(marker))] = marker
    for _ in range(PIPELINED):
        answer = client.receive(timeout=20)
        assert answer is not None
        traced.told(tags[answer.matchtag], answer.read(Submitted))


def with_keys_and_arrays(traced: Traced, client: Client) -> None:
    for number in range(5):
        marker = f"<with a key {number:04}>"
        keyed = Submit(specs=[SPEC], jobs=[[0, marker]], key=f"key {number}")
        traced.told(marker, client.call(keyed, Submitted))
        marker = f"<array {number:04}>"
        array = SubmitArray(spec=SPEC, count=3, values=[marker, "b", "c"])
        traced.told(marker, client.call(array, Submitted))


def submit_all(site: Site, *, durable: bool) -> Traced:
    traced = Traced(site, durable=durable)
    with Client(traced.flux.uri) as client:
        one_by_one(traced, client)
        pipelined(traced, client)
        with_keys_and_arrays(traced, client)
        last = client.submit(SPEC)
        client.wait(last, timeout=30)
    return traced


def test_reply_leaves_after_the_rows_are_on_disk(site: Site) -> None:
    traced = submit_all(site, durable=True)
    assert len(traced.replies) == ONE_BY_ONE + PIPELINED + 10
    assert traced.faults() == {}


def test_store_without_sync_is_found_out(site: Site) -> None:
    traced = submit_all(site, durable=False)
    faults = traced.faults()
    assert faults.keys() == traced.replies.keys()
    assert set(faults.values()) == {"the reply came before the row was on disk"}
