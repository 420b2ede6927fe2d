from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from fluxlike.client import AsyncClient, Client
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
            return self._steps(result) if isinstance(result, AsyncGenerator) else result

        return wait

    def _steps(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        async def closed() -> None:
            await items.aclose()

        async def one() -> Any:
            return await anext(items)

        try:
            while True:
                try:
                    item = self._runner.run(one())
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self._runner.run(closed())


Connect = Callable[..., Any]


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
