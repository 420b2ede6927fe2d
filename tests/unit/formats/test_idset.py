from __future__ import annotations

import copy
import pickle

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.idset import MAX_ID, Idset, mask_runs, mask_text, parse_mask


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("[]", []),
        ("0", [0]),
        ("11", [11]),
        ("[6]", [6]),
        ("4-6", [4, 5, 6]),
        ("1-3,5,42", [1, 2, 3, 5, 42]),
        ("[1-3,5-6,42]", [1, 2, 3, 5, 6, 42]),
        ("3-3", [3]),
        ("1000000", [1000000]),
    ],
)
def test_text_names_these_ids(text: str, ids: list[int]) -> None:
    assert list(Idset.parse(text)) == ids


@pytest.mark.parametrize(
    "text",
    [
        "a", "1.0", "5b", "4-6c", "08", "000", "1-03", "9,8",
        "8-4", "6,6", "1-3,3", "1-4,2-6", "[4", "4]", "[", "]",
        "[[4]]", "[4],[5]", "4,[5]", "[4]5", "4-", "-4", "[-4]", "-", "--", "4,", ",4", "4,,5", "4-5-6",
        " 4", "4 ", "1_0", "+4", "0x4", "²", "١",
    ],
)  # fmt: skip
def test_malformed_text_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        Idset.parse(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("text", ["0-99999999999", "99999999999", f"{MAX_ID + 1}", "9" * 10_000])
def test_absurd_ids_are_refused_before_they_cost_memory(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is larger than") as refusal:
        parse_mask(text)
    assert len(str(refusal.value)) < 250


def test_a_caller_may_set_a_lower_limit() -> None:
    assert parse_mask("7", largest=7) == 1 << 7
    with pytest.raises(InvalidRequest, match="larger than 7"):
        parse_mask("8", largest=7)


def test_the_largest_allowed_range_parses_and_prints() -> None:
    text = f"0-{MAX_ID}"
    whole = Idset.parse(text)
    assert len(whole) == MAX_ID + 1
    assert str(whole) == text


def test_many_scattered_ids_take_linear_time() -> None:
    # Or-ing them in one by one would copy the growing mask two hundred thousand times.
    text = ",".join(map(str, range(0, 400_000, 2)))
    assert mask_text(parse_mask(text)) == text


@pytest.mark.parametrize(
    ("ids", "text"),
    [([], ""), ([0], "0"), ([5], "5"), ([0, 1], "0-1"), ([4, 5, 6], "4-6"), ([7, 0, 2, 1, 3, 7], "0-3,7")],
)
def test_text_is_canonical(ids: list[int], text: str) -> None:
    assert str(Idset.of(ids)) == text


@pytest.mark.parametrize("ids", [[-1], [1, -1], [MAX_ID + 1]])
def test_ids_out_of_range_are_refused(ids: list[int]) -> None:
    with pytest.raises(InvalidRequest, match="is not between 0 and"):
        Idset.of(ids)


def test_a_negative_mask_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="negative"):
        Idset.from_mask(-1)


def test_first_and_last_of_a_set() -> None:
    assert Idset.parse("3-5,9").first() == 3
    assert Idset.parse("3-5,9").last() == 9


def test_an_empty_set_has_no_first_nor_last() -> None:
    with pytest.raises(ValueError, match="no first"):
        Idset().first()
    with pytest.raises(ValueError, match="no last"):
        Idset().last()


def test_count_is_the_number_of_ids() -> None:
    assert Idset.parse("0-3,7").count == len(Idset.parse("0-3,7")) == 5


def test_membership_of_odd_things_is_false() -> None:
    few = Idset.parse("0-3")
    assert 3 in few
    assert 4 not in few
    assert -1 not in few
    assert 10**30 not in few
    assert "1" not in few


def test_equal_sets_hash_alike_and_nothing_else_is_equal() -> None:
    assert Idset.parse("1,2,3") == Idset.parse("[1-3]")
    assert len({Idset.parse("1,2,3"), Idset.parse("[1-3]")}) == 1
    assert Idset.parse("1") != "1"


def test_an_idset_cannot_change() -> None:
    few = Idset.parse("1")
    with pytest.raises(AttributeError):
        few.mask = 5


def test_an_idset_survives_copy_and_pickle() -> None:
    few = Idset.parse("1-3")
    assert copy.deepcopy(few) == few
    assert pickle.loads(pickle.dumps(few)) == few


def test_repr_can_be_read_back() -> None:
    assert repr(Idset.parse("1,2")) == "Idset.parse('1-2')"


def test_runs_are_first_and_last_of_each_stretch() -> None:
    assert list(mask_runs(parse_mask("0,2-4,9"))) == [(0, 0), (2, 4), (9, 9)]
    assert list(mask_runs(0)) == []
