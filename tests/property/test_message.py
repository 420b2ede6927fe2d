"""Messages and frames: what goes in comes out, and nothing else does harm."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from fluxlike.errors import ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.message import Kind, Message, decode, decode_body, encode, encode_body

WHOLE = st.integers(-(2**63), 2**64 - 1)
TEXT = st.text(max_size=20)
LEAVES = st.one_of(st.none(), st.booleans(), WHOLE, st.floats(allow_nan=False), TEXT, st.binary(max_size=20))
BODIES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(TEXT, WHOLE), inner, max_size=4)),
    max_leaves=10,
)

FIELDS = ("kind", "topic", "nodeid", "matchtag", "sender", "userid", "roles", "flags", "error", "route", "body")


@st.composite
def messages(draw: st.DrawFn) -> Message:
    return Message(
        int(draw(st.sampled_from([Kind.REQUEST, Kind.RESPONSE, Kind.EVENT, Kind.CONTROL]))),
        draw(TEXT),
        draw(BODIES),
        nodeid=draw(WHOLE),
        matchtag=draw(WHOLE),
        sender=draw(WHOLE),
        userid=draw(WHOLE),
        roles=draw(WHOLE),
        flags=draw(WHOLE),
        error=draw(st.one_of(st.none(), st.tuples(TEXT, TEXT))),
        route=draw(st.lists(WHOLE, max_size=5)),
    )


def fields(message: Message) -> dict[str, Any]:
    return {name: getattr(message, name) for name in FIELDS}


@given(messages())
def test_message_survives_the_wire(message: Message) -> None:
    assert fields(decode(encode(message))) == fields(message)


@given(messages())
def test_passing_a_message_on_changes_no_byte(message: Message) -> None:
    once = encode(message)
    assert encode(decode(once)) == once


@given(BODIES)
def test_body_survives_the_wire(body: object) -> None:
    assert decode_body(encode_body(body)) == body


def take(function: Any, data: bytes) -> object:
    """What it makes of the bytes; nothing but ProtocolError may be raised."""
    try:
        return function(data)
    except ProtocolError:
        return None


# Chance alone rarely nests: mostly marks of msgpack (arrays, maps, texts, extensions of every width).
MARKS = [
    0x80,
    0x81,
    0x82,
    0x90,
    0x91,
    0x9B,
    0xA0,
    0xA1,
    0xC0,
    0xC1,
    0xC4,
    0xC7,
    0xD4,
    0xD6,
    0xD7,
    0xD9,
    0xDC,
    0xDD,
    0xDE,
]
NOISE = st.one_of(
    st.binary(max_size=200),
    st.lists(st.one_of(st.sampled_from(MARKS), st.integers(0, 255)), max_size=60).map(bytes),
)


@given(NOISE)
def test_arbitrary_bytes_are_a_message_or_a_protocol_error(data: bytes) -> None:
    message = take(decode, data)
    assert message is None or isinstance(message, Message)


@given(NOISE)
def test_arbitrary_bytes_are_a_body_or_a_protocol_error(data: bytes) -> None:
    take(decode_body, data)


@given(st.lists(BODIES, min_size=9, max_size=13))
def test_arbitrary_arrays_are_a_message_or_a_protocol_error(fields_: list[Any]) -> None:
    message = take(decode, msgpack.packb(fields_))
    if isinstance(message, Message):
        take(lambda _: message.body, b"")


@given(messages(), st.data())
def test_damaged_message_is_another_message_or_a_protocol_error(message: Message, data: st.DataObject) -> None:
    good = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    damaged = take(decode, bytes(good[: data.draw(st.integers(0, len(good)))]))
    if isinstance(damaged, Message):
        take(lambda _: damaged.body, b"")


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(0), max_size=40))
def test_frames_are_the_same_however_the_stream_is_cut(frames: list[bytes], places: list[int]) -> None:
    reader = FrameReader()
    stream = b"".join(map(frame, frames))
    assert [whole for piece in cut(stream, places) for whole in reader.feed(piece)] == frames


@given(st.binary(max_size=300), st.lists(st.integers(0), max_size=10), st.integers(0, 50))
def test_no_frame_over_the_limit_ever_comes_out(data: bytes, places: list[int], limit: int) -> None:
    reader = FrameReader(limit)
    try:
        found = [whole for piece in cut(data, places) for whole in reader.feed(piece)]
    except ProtocolError:
        return
    assert all(len(whole) <= limit for whole in found)
    stream = b"".join(map(frame, found))
    assert data.startswith(stream)
