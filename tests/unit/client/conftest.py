from __future__ import annotations

import asyncio
import inspect
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from fluxlike.client import AsyncClient, Client
from fluxlike.client.uri import local_uri
from fluxlike.testing.fake_broker import FakeBroker


class Awaited:
    """The asyncio face made to wait, so that one suite can speak to both faces."""

    def __init__(self, uri: str | None = None) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(uri)
        try:
            self._runner.run(self._client.connect())
        except BaseException:
            self._runner.close()
            raise

    def __enter__(self) -> Awaited:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._runner.run(self._client.close())

    def end(self) -> None:
        self._runner.close()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        return self._waiting(value) if callable(value) else value

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        def wait(*args: Any, **kwargs: Any) -> Any:
            result = self._runner.run(called(*args, **kwargs))
            return Steps(self._runner, result) if isinstance(result, AsyncGenerator) else result

        return wait


class Steps:
    """An asyncio generator, one waited-for step at a time."""

    def __init__(self, runner: asyncio.Runner, items: AsyncGenerator[Any, None]) -> None:
        self._runner = runner
        self._items = items

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        async def step() -> Any:
            return await anext(self._items)

        try:
            return self._runner.run(step())
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        async def close() -> None:
            await self._items.aclose()

        self._runner.run(close())


class FullListener:
    """Listens, and has as many connections waiting to be accepted as the kernel keeps for it."""

    def __init__(self, path: str) -> None:
        self.uri = local_uri(path)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(0)
        self._waiting = socket.socket(socket.AF_UNIX)
        self._waiting.connect(path)
        self._accepted: list[socket.socket] = []

    def accept_all(self, count: int) -> socket.socket:
        """Accept this many, and give the last."""
        self._accepted += [self._listener.accept()[0] for _ in range(count)]
        return self._accepted[-1]

    def close(self) -> None:
        for sock in (self._listener, self._waiting, *self._accepted):
            sock.close()


Connect = Callable[..., Any]


@pytest.fixture
def full_listener() -> Iterator[FullListener]:
    with tempfile.TemporaryDirectory() as directory:
        listener = FullListener(f"{directory}/s")
        yield listener
        listener.close()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as fake:
        yield fake


@pytest.fixture(params=["blocking", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Opens clients of one face, then of the other; closes them after the test."""
    opened: list[Any] = []

    def open_client(uri: str | None = None) -> Any:
        client: Any = Client(uri) if request.param == "blocking" else Awaited(uri)
        opened.append(client)
        return client

    yield open_client
    for client in opened:
        client.close()
        if isinstance(client, Awaited):
            client.end()


@pytest.fixture
def client(connect: Connect, broker: FakeBroker) -> Any:
    return connect(broker.uri)
