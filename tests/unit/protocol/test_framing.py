"""Length-prefixed frames."""

from __future__ import annotations

import pytest

from fluxlike.errors import ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.message import MAX_FRAME


def test_frame_is_its_length_and_its_bytes() -> None:
    assert frame(b"abc") == b"\0\0\0\3abc"


def test_frames_come_out_whole_and_in_order() -> None:
    assert FrameReader().feed(frame(b"a") + frame(b"") + frame(b"bc")) == [b"a", b"", b"bc"]


def test_half_a_frame_waits_for_the_rest() -> None:
    reader = FrameReader()
    data = frame(b"abc")
    assert [reader.feed(data[at : at + 1]) for at in range(len(data))] == [[]] * 6 + [[b"abc"]]


def test_frame_of_exactly_the_limit_passes() -> None:
    assert FrameReader(limit=3).feed(frame(b"abc")) == [b"abc"]


def test_frame_over_the_limit_is_refused_before_its_bytes_come() -> None:
    with pytest.raises(ProtocolError, match="frame of 4 bytes is over the limit of 3"):
        FrameReader(limit=3).feed(b"\0\0\0\4")


def test_usual_limit_is_that_of_a_message() -> None:
    with pytest.raises(ProtocolError, match=str(MAX_FRAME)):
        FrameReader().feed(b"\xff\xff\xff\xff")
