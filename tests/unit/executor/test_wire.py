from __future__ import annotations

from typing import Any

import msgpack
import pytest

from fluxlike_executor.wire import MAX_FRAME, FrameReader, ProtocolError, decode, frame


def test_messages_survive_any_cut_of_the_stream() -> None:
    sent: list[list[Any]] = [["hello", {"rank": 0}], ["ack", 7], ["stdin", 1, 2, [], b"\x00\xff", True]]
    stream = b"".join(frame(message) for message in sent)
    for size in (1, 2, 3, 5, 7, len(stream)):
        reader = FrameReader()
        got = [m for at in range(0, len(stream), size) for m in reader.feed(stream[at : at + size])]
        assert got == sent


def test_a_frame_over_the_limit_is_refused_before_its_body_arrives() -> None:
    with pytest.raises(ProtocolError, match="over the limit"):
        FrameReader().feed((MAX_FRAME + 1).to_bytes(4, "big"))


@pytest.mark.parametrize(
    "body",
    [b"", b"\xc1", b"\x93\x01", b"\x07", b"\x90", b"\x91\x07", b"\x80", b"\x91\xa1a\x00", b"\x81\x91\x01\x01"],
    ids=["empty", "reserved", "cut", "number", "no-type", "type-not-text", "map", "trailing", "list-as-key"],
)
def test_what_is_no_message_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(body)


def test_text_that_is_not_utf8_comes_through_unchanged() -> None:
    [[_, text]] = FrameReader().feed(b"\x00\x00\x00\x07\x92\xa3foo\xa1\xff")
    assert text.encode("utf-8", "surrogateescape") == b"\xff"
    assert frame(["foo", text]) == b"\x00\x00\x00\x07\x92\xa3foo\xa1\xff"


def test_frames_are_plain_msgpack_behind_their_length() -> None:
    data = frame(["ack", 1])
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert msgpack.unpackb(data[4:]) == ["ack", 1]
