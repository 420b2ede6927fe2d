"""A router with pretended neighbours: what it sends is written down."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.protocol.message import ANY, Kind, Message
from fluxlike.protocol.payload import Payload
from fluxlike_broker.router import Router

SENDER = 1000
"""The router's own id as an asker."""
CLIENT = 1001
"""A client that is there."""


class FakeLinks:
    """A parent or none, and the ranks that are known to be below."""

    def __init__(self, parent: bool, below: set[int]) -> None:
        self.parent = parent
        self.below = below
        self.sent: list[tuple[str, Message]] = []

    def send_up(self, message: Message) -> bool:
        if self.parent:
            self.sent.append(("up", message))
        return self.parent

    def send_to(self, rank: int, message: Message) -> bool:
        if rank in self.below:
            self.sent.append((f"to {rank}", message))
        return rank in self.below

    def flood_down(self, message: Message) -> None:
        self.sent.append(("down", message))

    def ways(self) -> list[str]:
        return [way for way, _ in self.sent]


class FakeClients:
    def __init__(self) -> None:
        self.got: list[Message] = []

    def deliver(self, message: Message) -> bool:
        here = message.sender == CLIENT
        if here:
            self.got.append(message)
        return here


class Net:
    """One router, its neighbours, and the answers that came to its own requests."""

    def __init__(self, rank: int, *, below: tuple[int, ...] = ()) -> None:
        self.router = Router(rank, 500, SENDER)
        self.links = FakeLinks(rank != 0, set(below))
        self.clients = FakeClients()
        self.router.connect(self.links, self.clients)
        self.replies: list[Message] = []

    def ask(self, payload: Payload, **options: Any) -> int:
        """As a module of this broker does."""
        return self.router.request(payload, self.replies.append, **options)

    def message(self, payload: Payload, *, nodeid: int = ANY, flags: int = 0, tag: int = 1) -> Message:
        """As a client's request looks once it is past the door."""
        return Message(
            Kind.REQUEST,
            payload.topic,
            payload,
            nodeid=nodeid,
            matchtag=tag,
            sender=CLIENT,
            userid=42,
            flags=flags,
            route=[self.router.rank],
        )

    def client_asks(self, payload: Payload, **options: Any) -> Message:
        message = self.message(payload, **options)
        self.router.handle(message)
        return message


@pytest.fixture(name="root")
def _root() -> Net:
    """Rank 0, with ranks 1 and 2 below."""
    return Net(0, below=(1, 2))


@pytest.fixture(name="middle")
def _middle() -> Net:
    """Rank 1, with a parent, and ranks 3 and 4 below."""
    return Net(1, below=(3, 4))
