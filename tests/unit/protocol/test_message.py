"""Messages: what is said of them, how answers find back, and what is not a message at all."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from fluxlike.errors import FluxlikeError, InvalidRequest, NotFound, ProtocolError
from fluxlike.protocol.instance import Ping, Pong
from fluxlike.protocol.message import ANY, Flag, Kind, Message, decode, decode_body, encode, encode_body


def over_the_wire(message: Message) -> Message:
    return decode(encode(message))


def request(**given: Any) -> Message:
    return Message(Kind.REQUEST, "broker.ping", Ping(pad=b"x"), **given)


def test_payload_stays_the_same_object_inside_a_process() -> None:
    message = request()
    assert message.read(Ping) is message.body


def test_payload_is_checked_when_it_comes_over_the_wire() -> None:
    arrived = over_the_wire(request())
    assert arrived.body == {"pad": b"x"}
    assert arrived.read(Ping) == Ping(pad=b"x")
    with pytest.raises(InvalidRequest, match="pad must be bytes"):
        over_the_wire(Message(Kind.RESPONSE, "t", {"pad": 1})).read(Pong)


def test_forwarding_does_not_decode_the_payload() -> None:
    arrived = over_the_wire(request())
    onward = over_the_wire(arrived)
    assert onward.data == arrived.data == encode_body(Ping(pad=b"x"))


def test_garbage_as_payload_shows_only_when_it_is_read() -> None:
    arrived = over_the_wire(Message(Kind.REQUEST, "t", data=b"\xc1"))
    with pytest.raises(ProtocolError, match="payload is not msgpack"):
        arrived.read(Ping)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x93\x01", b"\x01\x02", b"\xa1\xff", b"\x81\x90\x01", b"\x91" * 3000 + b"\x01"]
)
def test_payload_that_is_no_msgpack_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_body(data)


def test_answer_goes_to_the_rank_and_the_sender_that_asked() -> None:
    answer = request(nodeid=3, matchtag=9, sender=77, userid=5, route=[2, 0, 1]).response(
        Pong(rank=3, userid=5, route=[2, 0, 1, 3], pad=b"")
    )
    assert (answer.kind, answer.nodeid, answer.matchtag, answer.sender) == (Kind.RESPONSE, 2, 9, 77)
    assert answer.topic == "broker.ping"
    assert answer.failure() is None


def test_error_travels_as_its_code_and_comes_back_as_its_class() -> None:
    answer = over_the_wire(request(route=[0]).response(error=NotFound("no job ƒ8")))
    failure = answer.failure()
    assert type(failure) is NotFound
    assert str(failure) == "no job ƒ8"


def test_error_of_an_unknown_code_stays_readable() -> None:
    failure = over_the_wire(Message(Kind.RESPONSE, "t", error=("melted", "too hot"))).failure()
    assert type(failure) is FluxlikeError
    assert str(failure) == "melted: too hot"


def test_message_without_body_has_none_on_both_sides() -> None:
    assert Message(Kind.EVENT, "t").body is None
    assert over_the_wire(Message(Kind.EVENT, "t")).body is None


def test_defaults_are_anybody_and_nothing_special() -> None:
    message = over_the_wire(Message(Kind.REQUEST, "t"))
    assert (message.nodeid, message.flags, message.route, message.error) == (ANY, Flag.NONE, [], None)


def test_repr_tells_where_a_message_goes() -> None:
    assert "broker.ping node=3 tag=9" in repr(request(nodeid=3, matchtag=9))


GOOD = [1, "topic", -1, 0, 0, 0, 0, 0, None, [], b"\xc0"]


def frame_with(index: int, value: object) -> bytes:
    fields = list(GOOD)
    fields[index] = value
    return msgpack.packb(fields)


def test_plain_array_of_the_right_shape_is_a_message() -> None:
    assert decode(msgpack.packb(GOOD)).topic == "topic"


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, 3),
        (0, 0),
        (0, True),
        (0, "1"),
        (0, [1]),
        (1, b"topic"),
        (1, None),
        (2, "0"),
        (2, 1.0),
        (3, None),
        (4, False),
        (5, []),
        (6, {}),
        (7, b""),
        (8, "error"),
        (8, ["code"]),
        (8, ["code", 1]),
        (8, ["code", "text", "more"]),
        (9, {}),
        (9, None),
        (9, ["0"]),
        (9, [True]),
        (10, "text"),
        (10, None),
        (10, [1]),
    ],
)
def test_field_of_the_wrong_type_is_refused(index: int, value: object) -> None:
    with pytest.raises(ProtocolError):
        decode(frame_with(index, value))


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"hello there",
        msgpack.packb(GOOD[:-1]),
        msgpack.packb([*GOOD, 1]),
        msgpack.packb({"kind": 1}),
        msgpack.packb(1),
        msgpack.packb(GOOD) + b"\x00",
        msgpack.packb(GOOD)[:-1],
        b"\xdd\xff\xff\xff\xff",
        b"\x81\x01\x02",
        b"\x91" * 3000,
    ],
)
def test_anything_but_one_well_formed_message_is_refused(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(frame)
