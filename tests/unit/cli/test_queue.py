from __future__ import annotations

import json

import pytest

from fluxlike.protocol.jobs import (
    QueueDisable,
    QueueDrain,
    QueueEnable,
    QueueIdle,
    QueueStart,
    QueueState,
    QueueStatus,
    QueueStop,
)
from fluxlike.protocol.payload import Payload
from fluxlike.testing.fake_broker import SILENCE, FakeBroker
from tests.unit.cli.conftest import Command

OPEN = QueueState(started=True, reason="", pending=2, running=1)
CLOSED = QueueState(started=False, reason="cooling", pending=0, running=0, enabled=False, disable_reason="moving")


@pytest.mark.parametrize(
    ("args", "request_"),
    [
        (["status"], QueueStatus()),
        (["stop", "-m", "cooling"], QueueStop(reason="cooling")),
        (["start"], QueueStart()),
        (["disable", "-m", "moving"], QueueDisable(reason="moving")),
        (["enable"], QueueEnable()),
        (["drain"], QueueDrain()),
        (["idle"], QueueIdle()),
    ],
)
def test_each_command_is_one_request_and_shows_the_queue(
    broker: FakeBroker, fluxlike: Command, args: list[str], request_: Payload
) -> None:
    broker.on(type(request_), lambda request: OPEN)
    result = fluxlike("queue", *args)
    assert (result.code, broker.seen(type(request_))) == (0, [request_])
    assert result.out == "Submission is enabled\nScheduling is started: 2 pending, 1 running\n"
    assert json.loads(fluxlike("queue", *args, "--json").out)["pending"] == 2


def test_reasons_are_told(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(QueueStatus, lambda request: CLOSED)
    assert fluxlike("queue", "status").out.splitlines() == [
        "Submission is disabled: moving",
        "Scheduling is stopped (cooling): 0 pending, 0 running",
    ]


def test_the_list_has_a_row_for_the_queue(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(QueueStatus, lambda request: CLOSED)
    header, row = fluxlike("queue", "list").out.splitlines()
    assert header.split() == ["QUEUE", "EN", "ST", "TDEFAULT", "TLIMIT", "NNODES", "NCORES", "NGPUS"]
    assert row.split()[:3] == ["-", "no", "no"]
    assert len(fluxlike("queue", "list", "-n").out.splitlines()) == 1
    assert json.loads(fluxlike("queue", "list", "--json").out)["queues"][0]["disable_reason"] == "moving"


def test_disabling_needs_a_reason(fluxlike: Command) -> None:
    assert fluxlike("queue", "disable").code == 2


@pytest.mark.parametrize(("command", "words"), [("drain", "is not empty"), ("idle", "still run")])
def test_waiting_can_be_given_up(broker: FakeBroker, fluxlike: Command, command: str, words: str) -> None:
    broker.on(QueueDrain, lambda request: SILENCE)
    broker.on(QueueIdle, lambda request: SILENCE)
    result = fluxlike("queue", command, "-t", "10ms")
    assert (result.code, words in result.err) == (1, True)
