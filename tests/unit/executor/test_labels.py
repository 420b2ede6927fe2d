from __future__ import annotations

from fluxlike_executor.labels import LONGEST, Labeler


def test_each_line_is_labelled_however_the_stream_is_cut() -> None:
    text = b"one\n\ntwo\nthree"
    for cut in range(len(text) + 1):
        labeler = Labeler(7)
        written = labeler.feed(text[:cut]) + labeler.feed(text[cut:]) + labeler.end()
        assert written == b"7: one\n7: \n7: two\n7: three\n"


def test_a_stream_that_ends_with_its_line_gets_nothing_added() -> None:
    labeler = Labeler(0)
    assert labeler.feed(b"a\n") == b"0: a\n"
    assert labeler.end() == b""


def test_an_endless_line_is_given_out_in_pieces() -> None:
    labeler = Labeler(1)
    piece = b"x" * (LONGEST + 1)
    assert labeler.feed(piece) == b"1: " + piece + b"\n"
    assert labeler.end() == b""
