"""How a service declares what it answers."""

from __future__ import annotations

from fluxlike.protocol.payload import Payload
from fluxlike_broker.service import handlers_of, request


class Knock(Payload):
    topic = "door.knock"


class Ring(Payload):
    topic = "door.ring"


class Door:
    @request(Knock)
    def knock(self, body: Knock, call: object) -> None: ...

    def paint(self) -> None: ...

    @property
    def colour(self) -> str:
        raise AssertionError("looking for handlers must not read properties")


class Bell(Door):
    @request(Ring)
    def ring(self, body: Ring, call: object) -> None: ...


def test_marked_methods_are_found_with_their_payload() -> None:
    door = Door()
    assert handlers_of(door) == [(Knock, door.knock)]


def test_handlers_are_inherited() -> None:
    bell = Bell()
    assert handlers_of(bell) == [(Knock, bell.knock), (Ring, bell.ring)]
