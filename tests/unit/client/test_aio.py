"""What only the asyncio face can get wrong."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fluxlike.client import AsyncClient
from fluxlike.client.uri import local_uri
from fluxlike.errors import Disconnected, TimedOut
from fluxlike.protocol.instance import Ping, Pong
from fluxlike.testing.fake_broker import SILENCE, FakeBroker

if TYPE_CHECKING:
    from tests.unit.client.conftest import FullListener


def pong(request: Ping) -> Pong:
    return Pong(rank=0, userid=0, route=[0], pad=request.pad)


async def test_many_tasks_share_one_connection(broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    async with AsyncClient(broker.uri) as client:
        replies = await asyncio.gather(*(client.call(Ping(pad=bytes([n])), Pong) for n in range(100)))
    assert [reply.pad for reply in replies] == [bytes([n]) for n in range(100)]
    assert len(broker.requests) == 100


async def test_cancelled_task_cancels_its_request(broker: FakeBroker) -> None:
    broker.on_topic("my.slow", lambda _: SILENCE)
    broker.on(Ping, pong)
    async with AsyncClient(broker.uri) as client:
        task = asyncio.create_task(client.rpc("my.slow"))
        await asyncio.to_thread(broker.wait_until, lambda: len(broker.requests) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(broker.wait_until, lambda: bool(broker.cancelled))
        assert broker.cancelled == {broker.requests[0].matchtag}
        assert (await client.call(Ping(pad=b"x"), Pong)).pad == b"x"


async def test_outer_timeout_is_not_taken_for_the_brokers(broker: FakeBroker) -> None:
    broker.on_topic("my.slow", lambda _: SILENCE)
    async with AsyncClient(broker.uri) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await client.rpc("my.slow", timeout=60)
        with pytest.raises(TimedOut):
            await client.rpc("my.slow", timeout=0.01)


async def test_all_who_wait_learn_that_the_connection_is_lost(broker: FakeBroker) -> None:
    broker.on_topic("my.slow", lambda _: SILENCE)
    async with AsyncClient(broker.uri) as client:
        tasks = [asyncio.create_task(client.rpc("my.slow")) for _ in range(3)]
        tasks.append(asyncio.create_task(client.receive()))
        await asyncio.to_thread(broker.wait_until, lambda: len(broker.requests) == 3)
        broker.hang_up()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [Disconnected] * 4
    assert len({id(result) for result in results}) == 4


async def test_client_that_is_not_open_yet_says_so(broker: FakeBroker) -> None:
    client = AsyncClient(broker.uri)
    with pytest.raises(Disconnected, match="use `async with`, or await connect"):
        await client.call(Ping(), Pong)
    await client.close()


async def test_connecting_twice_is_one_connection(broker: FakeBroker) -> None:
    async with AsyncClient(broker.uri) as client:
        await client.connect()
        await asyncio.to_thread(broker.wait_until, lambda: broker.connections == 1)


async def test_sending_waits_for_a_broker_that_takes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        async with AsyncClient(local_uri(path)) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.post(Ping(pad=bytes(8_000_000)))


async def test_cancelled_connect_leaves_no_socket_behind(full_listener: FullListener) -> None:
    task = asyncio.create_task(AsyncClient(full_listener.uri).connect())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await task
    assert task.cancelled()
    late = await asyncio.to_thread(full_listener.accept_all, 2)
    assert await asyncio.to_thread(late.recv, 1) == b""
