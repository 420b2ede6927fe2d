"""Events: published through rank 0, numbered there, delivered down the tree."""

from __future__ import annotations

from typing import Any

from fluxlike.protocol.instance import EventPublish, EventPublished, EventSeen, EventSubscribe
from fluxlike.protocol.message import Kind, Message
from fluxlike_broker.call import Call
from fluxlike_broker.router import Router
from fluxlike_broker.service import request


class Publisher:
    """On rank 0 only."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._sequence = 0

    def publish(self, name: str, body: Any) -> int:
        self._sequence += 1
        self._router.deliver_event(Message(Kind.EVENT, name, body, matchtag=self._sequence))
        return self._sequence

    @request(EventPublish)
    def on_publish(self, body: EventPublish, call: Call) -> EventPublished:
        return EventPublished(sequence=self.publish(body.name, body.body))


class Subscriptions:
    """On every rank, under a service name of its own, so that a subscriber hears its own broker's events."""

    def __init__(self, router: Router) -> None:
        self._router = router

    @request(EventSubscribe)
    def subscribe(self, body: EventSubscribe, call: Call) -> None:
        def tell(name: str, event: Any, sequence: int) -> None:
            call.send(EventSeen(sequence=sequence, name=name, body=event))

        end = self._router.subscribe(body.prefix, tell)
        call.on_cancel(end)
