from __future__ import annotations

import itertools

from fluxlike_executor.window import OutputWindow


def contents(window: OutputWindow) -> bytes:
    return b"".join(data for _, _, _, data in window.unacked())


def test_room_shrinks_with_output_and_comes_back_with_acknowledgement() -> None:
    window = OutputWindow(10)
    assert window.put(0, "stdout", b"abcd") == (0, 0, "stdout", b"abcd")
    assert window.put(1, "stderr", b"efghij") == (4, 1, "stderr", b"efghij")
    assert window.room == 0
    assert window.ack(4)
    assert window.room == 4
    assert list(window.unacked()) == [(4, 1, "stderr", b"efghij")]


def test_every_acknowledged_offset_leaves_exactly_the_rest() -> None:
    pieces = [b"ab", b"c", b"defg", b"hi"]
    whole = b"".join(pieces)
    for first, second in itertools.combinations(range(len(whole) + 1), 2):
        window = OutputWindow()
        for number, piece in enumerate(pieces):
            window.put(number, "stdout", piece)
        window.ack(first)
        window.ack(second)
        assert contents(window) == whole[second:]
        chunks = list(window.unacked())
        assert [at for at, *_ in chunks] == [second + sum(len(c[3]) for c in chunks[:n]) for n in range(len(chunks))]


def test_an_old_or_impossible_offset_changes_nothing() -> None:
    window = OutputWindow()
    window.put(0, "stdout", b"abcd")
    window.ack(2)
    assert not window.ack(1)
    assert not window.ack(2)
    assert not window.ack(5)
    assert contents(window) == b"cd"
    assert window.acked == 2
