"""Remote commands: output goes no faster than it is taken, ids are never used twice."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.protocol.instance import ExecOutput, ExecRun, ExecTaken
from fluxlike.protocol.message import Flag, Kind, Message
from fluxlike_broker.modules.execution.remote import RemoteCommands
from fluxlike_broker.router import Router


class Link:
    """What the executor is told."""

    connected = True

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def send(self, *fields: Any) -> None:
        self.sent.append(fields)

    def of(self, kind: str) -> list[Any]:
        return [row for fields in self.sent if fields[0] == kind for row in fields[1]]


class Client:
    """The asker: its answers, and what its broker says for it."""

    def __init__(self) -> None:
        self.link = Link()
        self.remote = RemoteCommands(self.link)  # type: ignore[arg-type]
        self.router = Router(0, 1000, 77)
        self.router.register(self.remote)
        self.router.connect(None, self)  # type: ignore[arg-type]
        self.answers: list[Message] = []

    def deliver(self, message: Message) -> bool:
        self.answers.append(message)
        return True

    def request(self, body: Any, tag: int, flags: int = Flag.STREAM) -> None:
        topic = body.topic if body is not None else ExecRun.topic
        message = Message(Kind.REQUEST, topic, body, nodeid=0, matchtag=tag, sender=5, flags=flags, route=[0])
        self.router.handle(message)

    def run(self, tag: int = 1) -> int:
        """The id under which the executor knows the command."""
        self.request(ExecRun(command=["yes"]), tag)
        id: int = self.link.sent[-1][1]["jobs"][0][0]
        return id

    def write(self, id: int, *ends: int) -> None:
        begins = [0, *ends]
        rows = [[id, 0, 0, at, 0, "stdout", b"x" * (end - at)] for at, end in zip(begins, ends, strict=False)]
        self.remote.output(rows)

    def taken(self, count: int, tag: int = 1) -> None:
        self.request(ExecTaken(count=count), tag, Flag.NO_RESPONSE)


@pytest.fixture
def client() -> Client:
    return Client()


def test_output_that_nobody_has_taken_is_not_acknowledged(client: Client) -> None:
    id = client.run()
    client.write(id, 100, 250, 300)
    assert len(client.answers) == 3
    assert client.link.of("output-ack") == []
    client.taken(2)
    assert client.link.of("output-ack") == [[id, 0, 250]]
    client.taken(1)
    assert client.link.of("output-ack") == [[id, 0, 250], [id, 0, 300]]


@pytest.mark.parametrize("count", [-1, 0, 5])
def test_odd_counts_acknowledge_no_more_than_was_sent(client: Client, count: int) -> None:
    id = client.run()
    client.write(id, 100)
    client.taken(count)
    assert client.link.of("output-ack") == ([[id, 0, 100]] if count > 0 else [])


def test_credit_is_for_the_command_of_the_same_tag(client: Client) -> None:
    first, second = client.run(1), client.run(2)
    client.write(first, 100)
    client.write(second, 70)
    client.taken(1, tag=2)
    client.taken(1, tag=9)
    assert client.link.of("output-ack") == [[second, 0, 70]]


def test_command_that_was_left_alone_can_write_its_last(client: Client) -> None:
    """It cannot end while its output has nowhere to go."""
    id = client.run()
    client.write(id, 100, 200)
    client.request(None, 1, Flag.CANCEL)
    assert client.link.of("kill") == [[id, 0, 15]]
    assert client.link.of("output-ack") == [[id, 0, 200]]
    client.remote.output([[id, 0, 0, 200, 0, "stdout", b"last"]])
    assert client.link.of("output-ack")[1:] == [[id, 0, 204]]


def test_end_of_a_command_ends_its_stream_and_is_forgotten(client: Client) -> None:
    id = client.run()
    client.remote.results([[1, id, 0, "started", 1.0, [7]], [2, id, 0, "finished", 2.0, [256], ""]])
    status, end = client.answers
    assert status.read(ExecOutput).status == 256
    assert end.flags & Flag.END
    client.taken(1)
    client.remote.lost()
    assert len(client.answers) == 2


def test_commands_fail_when_the_executor_is_lost(client: Client) -> None:
    client.run(1)
    client.run(2)
    client.remote.lost()
    assert [answer.matchtag for answer in client.answers] == [1, 2]
    assert {answer.failure().code for answer in client.answers} == {"unavailable"}  # type: ignore[union-attr]


def test_ids_of_one_life_are_not_those_of_another() -> None:
    """The executor may still have commands of the broker's earlier life."""
    lives = [{Client().run() for _ in range(3)} for _ in range(10)]
    assert len(set.union(*lives)) == 30
    assert all(-(1 << 63) <= id < 0 for ids in lives for id in ids)
