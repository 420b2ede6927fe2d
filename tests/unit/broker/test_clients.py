"""The door for clients, with a real socket and a router that only writes down."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fluxlike.errors import HostUnreachable
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.instance import ExecOutput, ExecRun, ExecTaken, Ping
from fluxlike.protocol.message import ANY, Flag, Kind, Message, decode, encode
from fluxlike_broker.clients import ClientDoor


class Notebook:
    """A router that remembers what it was given."""

    rank = 3
    sender = 1000

    def __init__(self) -> None:
        self.handled: list[Message] = []
        self._changed = asyncio.Event()

    def handle(self, message: Message) -> None:
        self.handled.append(message)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 10)

    def taken(self) -> int:
        return sum(m.read(ExecTaken).count for m in self.handled if m.topic == ExecTaken.topic)


class Stage:
    def __init__(self, door: ClientDoor, router: Notebook, peer: socket.socket) -> None:
        self.door = door
        self.router = router
        self.peer = peer
        self._reader = FrameReader()

    async def ask(self, message: Message) -> None:
        before = len(self.router.handled)
        await asyncio.get_running_loop().sock_sendall(self.peer, frame(encode(message)))
        await self.router.until(lambda: len(self.router.handled) > before)

    async def receive(self) -> list[Message]:
        data = await asyncio.get_running_loop().sock_recv(self.peer, 1 << 20)
        return [decode(raw) for raw in self._reader.feed(data)]

    def answer(self, request: Message, size: int) -> None:
        self.door.deliver(request.response(ExecOutput(stream="stdout", data=b"x" * size), flags=Flag.STREAM))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    router = Notebook()
    door = ClientDoor(router, str(tmp_path / "s"))  # type: ignore[arg-type]
    await door.open()
    peer = socket.socket(socket.AF_UNIX)
    peer.setblocking(False)
    await asyncio.get_running_loop().sock_connect(peer, str(tmp_path / "s"))
    yield Stage(door, router, peer)
    peer.close()
    await door.close()


def run(tag: int = 1, nodeid: int = 7) -> Message:
    return Message(
        Kind.REQUEST, ExecRun.topic, ExecRun(command=["yes"]), nodeid=nodeid, matchtag=tag, flags=Flag.STREAM
    )


async def test_rank_of_a_command_hears_that_its_output_was_taken(stage: Stage) -> None:
    await stage.ask(run())
    (request,) = stage.router.handled
    stage.answer(request, 10)
    stage.answer(request, 10)
    await stage.router.until(lambda: len(stage.router.handled) == 2)
    taken = stage.router.handled[1]
    assert (taken.topic, taken.nodeid, taken.matchtag, taken.sender) == (ExecTaken.topic, 7, 1, request.sender)
    assert taken.route == [3]
    assert taken.flags == Flag.NO_RESPONSE
    assert taken.read(ExecTaken).count == 2


async def test_output_that_a_client_does_not_read_is_not_taken(stage: Stage) -> None:
    await stage.ask(run())
    (request,) = stage.router.handled
    for sent in range(1, 101):
        stage.answer(request, 64 * 1024)
        await asyncio.sleep(0)
        if stage.router.taken() < sent - 1:
            break
    else:
        raise AssertionError("the client has read nothing, and all of it was taken")
    assert sent < 20, "what the kernel holds, and little more"
    received = 0
    while received < sent:
        received += len(await stage.receive())
    await stage.router.until(lambda: stage.router.taken() == sent)


async def test_tag_that_is_in_use_closes_the_connection_and_what_it_asked(stage: Stage) -> None:
    await stage.ask(run(tag=4))
    await stage.ask(run(tag=4))
    (complaint,) = await stage.receive()
    assert complaint.matchtag == 0
    assert complaint.error is not None
    assert complaint.error[0] == "protocol"
    assert "match tag 4 is in use" in complaint.error[1]
    assert await stage.receive() == []
    await stage.router.until(lambda: len(stage.router.handled) == 2)
    assert [(m.matchtag, m.flags & Flag.CANCEL) for m in stage.router.handled] == [(4, 0), (4, Flag.CANCEL)]


async def test_tag_may_be_used_again_after_its_answer_or_cancellation(stage: Stage) -> None:
    ping = Message(Kind.REQUEST, Ping.topic, Ping(), nodeid=ANY, matchtag=4)
    for _ in range(3):
        await stage.ask(ping)
        stage.door.deliver(stage.router.handled[-1].response(None))
        await stage.receive()
    await stage.ask(run(tag=4))
    await stage.ask(Message(Kind.REQUEST, ExecRun.topic, matchtag=4, flags=Flag.CANCEL))
    await stage.ask(run(tag=4))
    assert stage.door.refused == 0


async def test_request_that_is_given_up_is_cancelled_where_it_went(stage: Stage) -> None:
    """Otherwise a command there would wait for ever for its output to be taken."""
    await stage.ask(run(tag=4, nodeid=7))
    await stage.ask(run(tag=5, nodeid=8))
    stage.door.fail_requests({7}, HostUnreachable("rank 7 is lost"))
    (answer,) = await stage.receive()
    assert (answer.matchtag, answer.error) == (4, ("host-unreachable", "rank 7 is lost"))
    cancellation = stage.router.handled[-1]
    assert (cancellation.matchtag, cancellation.nodeid, cancellation.flags) == (4, 7, Flag.CANCEL)
    assert len(stage.router.handled) == 3
