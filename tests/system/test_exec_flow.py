"""Output of commands outside the queue goes no faster than its client reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluxlike.client import Client
from fluxlike.protocol.instance import ExecOutput, ExecRun, Ping, Pong
from fluxlike.testing.instance import Instance

pytestmark = pytest.mark.system

SIZE = 40 << 20


def resident(pid: int) -> int:
    """Bytes of memory."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) << 10


@pytest.mark.parametrize("rank", [0, 3])
def test_command_waits_for_a_client_that_does_not_read(flux: Instance, rank: int) -> None:
    mark = flux.site.root / f"done-{rank}"
    script = f"head -c {SIZE} /dev/zero; echo > {mark}"
    broker = flux.broker(0)
    flux.client.wait(flux.sh("true"))  # what the first job makes a broker load is not what the command does
    before = resident(broker)
    request = ExecRun(command=["/bin/sh", "-c", script], env={"PATH": flux.site.env["PATH"]})
    answers = flux.client.stream(request, ExecOutput, rank=rank)
    received = len(next(answers).data)
    with Client(flux.uri) as other:
        for _ in range(300):  # so many times every broker on the way could have passed on more
            assert other.call(Ping(), Pong, rank=rank).rank == rank
    assert not mark.exists()
    assert resident(broker) - before < SIZE / 4
    received += sum(len(piece.data) for piece in answers)
    assert received == SIZE
    assert mark.exists()


def test_command_whose_client_leaves_without_having_read_ends(flux: Instance) -> None:
    """The fixture finds what is left."""
    request = ExecRun(command=["/bin/sh", "-c", "yes"], env={"PATH": flux.site.env["PATH"]})
    with Client(flux.uri) as client:
        answers = client.stream(request, ExecOutput, rank=2)
        next(answers)
