"""The broker's end of the executor's socket, against one that the test holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgpack
import pytest

from fluxlike.protocol.framing import FrameReader, frame
from fluxlike_broker.modules.execution.agent import Agent
from fluxlike_broker.modules.execution.executor_link import FIRST_RETRY, LAST_RETRY, ExecutorLink
from fluxlike_broker.router import Router

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def linked(link: ExecutorLink, path: Path, serve: Serve) -> AsyncIterator[None]:
    """The link at work, with `serve` for each connection it makes."""
    server = await asyncio.start_unix_server(serve, str(path))
    running = asyncio.create_task(link.run())
    yield
    link.stop()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    server.close()


def quiet_link(path: Path) -> ExecutorLink:
    return ExecutorLink(str(path), lambda: None, lambda message: None, lambda: None, "spawn")


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each wait was meant to be; none takes any time."""
    taken: list[float] = []
    real = asyncio.sleep

    async def nap(seconds: float) -> None:
        taken.append(seconds)
        await real(0)

    monkeypatch.setattr("asyncio.sleep", nap)
    return taken


async def test_executor_that_closes_at_once_is_asked_ever_less_often(tmp_path: Path, naps: list[float]) -> None:
    connections = 0
    enough = asyncio.Event()

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()
        if connections == 12:
            enough.set()

    async with linked(quiet_link(tmp_path / "s"), tmp_path / "s", close):
        await asyncio.wait_for(enough.wait(), 10)
    assert naps[:4] == [FIRST_RETRY, 2 * FIRST_RETRY, 4 * FIRST_RETRY, 8 * FIRST_RETRY]
    assert naps[10] == LAST_RETRY


async def test_executor_that_has_spoken_is_sought_again_at_once(tmp_path: Path, naps: list[float]) -> None:
    connections = 0
    enough = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.write(frame(msgpack.packb(["welcome", {}])))
        writer.close()
        if connections == 5:
            enough.set()

    async with linked(quiet_link(tmp_path / "s"), tmp_path / "s", speak):
        await asyncio.wait_for(enough.wait(), 10)
    assert naps == []


async def test_broker_that_never_attaches_greets_its_executor(tmp_path: Path) -> None:
    """One that is not greeted takes itself for an orphan, ends, and would be started again and again."""
    heard: asyncio.Queue[list[Any]] = asyncio.Queue()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        while data := await reader.read(65536):
            for raw in frames.feed(data):
                heard.put_nowait(msgpack.unpackb(raw))
        writer.close()

    agent = Agent(Router(1, 0, 5), str(tmp_path / "s"), "spawn", {}, {"rank": 1})
    async with linked(agent.link, tmp_path / "s", listen):
        assert await asyncio.wait_for(heard.get(), 10) == ["hello", {"rank": 1}]
