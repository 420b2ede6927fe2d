from __future__ import annotations

import pytest

from fluxlike.errors import InvalidRequest, Unavailable
from fluxlike.ids import EPOCH, MAX_GENERATOR, MAX_ID, FluidGenerator, decode, encode, encode_f58, timestamp

KNOWN = 6731191091817518


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("f58", "ƒuZZybuNNy"),
        ("f58plain", "fuZZybuNNy"),
        ("dec", "6731191091817518"),
        ("hex", "0x17e9fb8df16c2e"),
        ("dothex", "0017.e9fb.8df1.6c2e"),
    ],
)
def test_known_id_is_written_and_read_in_each_encoding(kind: str, text: str) -> None:
    assert encode(KNOWN, kind) == text
    assert decode(text) == KNOWN
    assert decode(f"  {text}\n") == KNOWN


@pytest.mark.parametrize(
    ("text", "job_id"),
    [
        ("ƒ1", 0),
        ("f1", 0),
        ("ƒ11", 0),
        ("0", 0),
        ("007", 7),
        ("0x0", 0),
        ("0xffFF", 0xFFFF),
        ("000E.DAF9.7d00.0000", 0xEDAF97D000000),
        (str(MAX_ID), MAX_ID),
        (encode_f58(MAX_ID), MAX_ID),
    ],
)
def test_text_names_this_id(text: str, job_id: int) -> None:
    assert decode(text) == job_id


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "ƒ", "f", "ƒ0", "ƒOIl", "ƒuZZ ybuNNy",
        "ƒjpXCZedGfVR", "ƒ" + "1" * 12, "x", "uZZybuNNy", "12a", "1_0", "١",
        str(MAX_ID + 1), "9" * 5000, "0x", "0xg",
        "0x1_0", "0x10000000000000000", "0X1", "0017.e9fb.8df1", "17.e9fb.8df1.6c2e",
        "0017.e9fb.8df1.6c2e.0000", "0017.e9fb.8df1.6c2g", "....", "1.5", "+1",
    ],
)  # fmt: skip
def test_what_is_no_id_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        decode(text)
    assert repr(text)[:70] in str(refusal.value)


@pytest.mark.parametrize(("text", "why"), [("-5", "words"), ("reform-remote-galileo", "words"), ("😃😄", "emoji")])
def test_encodings_we_lack_are_named(text: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        decode(text)


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match="f58, f58plain, dec, hex, dothex"):
        encode(1, "octal")


def test_an_id_holds_time_generator_and_sequence() -> None:
    ids = FluidGenerator(lambda: EPOCH + 5, generator=3)
    assert [ids.next(), ids.next()] == [5 << 24 | 3 << 10, 5 << 24 | 3 << 10 | 1]
    assert timestamp(ids.next()) == 5


def test_the_1025th_id_of_a_millisecond_borrows_from_the_next() -> None:
    ids = FluidGenerator(lambda: EPOCH + 5, generator=MAX_GENERATOR)
    made = [ids.next() for _ in range(1025)]
    assert timestamp(made[1023]) == 5
    assert made[1024] == 6 << 24 | MAX_GENERATOR << 10


def test_ids_grow_when_the_clock_steps_back() -> None:
    readings = iter([EPOCH + 1000, EPOCH + 1, EPOCH - 10**12, EPOCH + 1001])
    ids = FluidGenerator(lambda: next(readings), generator=0)
    made = [ids.next() for _ in range(4)]
    assert made == [1000 << 24, 1000 << 24 | 1, 1000 << 24 | 2, 1001 << 24]


def test_a_clock_before_the_epoch_starts_at_zero() -> None:
    assert FluidGenerator(lambda: 0, generator=1).next() == 1 << 10


def test_many_ids_continue_the_single_ones() -> None:
    ids = FluidGenerator(lambda: EPOCH, generator=2)
    twin = FluidGenerator(lambda: EPOCH, generator=2)
    assert [ids.next(), *ids.next_many(2000), ids.next()] == [twin.next() for _ in range(2002)]
    assert ids.next_many(0) == []


@pytest.mark.parametrize("generator", [0, 7, MAX_GENERATOR])
def test_after_a_restart_ids_go_on_above_the_largest_stored_one(generator: int) -> None:
    stored = FluidGenerator(lambda: EPOCH + 9000, generator=7).next_many(1500)[-1]
    ids = FluidGenerator(lambda: EPOCH + 10, generator)
    ids.advance(stored)
    ids.advance(0)
    assert ids.next() > stored


def test_the_end_of_time_is_an_error_not_a_wrapped_id() -> None:
    ids = FluidGenerator(lambda: EPOCH + (1 << 40) - 1, generator=0)
    assert len(ids.next_many(1024)) == 1024
    with pytest.raises(Unavailable, match="no job ids left"):
        ids.next()


@pytest.mark.parametrize("generator", [-1, MAX_GENERATOR + 1])
def test_a_generator_has_14_bits(generator: int) -> None:
    with pytest.raises(ValueError, match="generator"):
        FluidGenerator(lambda: 0, generator)
