from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike_cli.output.layout import Field, listed, parse, sort_rows, width_of

ROWS: list[dict[str, Any]] = [
    {"word": "alpha", "count": 12, "time": 0.0, "none": "", "zero": 0, "share": 0.5},
    {"word": "gammadelta", "count": 3, "time": 5400.0, "none": "", "zero": 0, "share": 0.125},
]


def fields(name: str) -> Field:
    if name not in ROWS[0]:
        raise InvalidRequest(f"unknown field {name!r}")
    return Field(name.upper(), lambda row, now: row[name], "{:<3}")


def shown(text: str, header: bool = False) -> list[str]:
    return parse(text, fields).lines(ROWS, 0.0, header)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("{word}", ["alpha", "gammadelta"]),
        ("{word:>6}|{count}", [" alpha|12", "gammadelta|3"]),
        ("{word:<6.6}|", ["alpha |", "gammad|"]),
        ("{word:<6.6+}|", ["alpha |", "gamma+|"]),
        ("{word:*^7}|", ["*alpha*|", "gammadelta|"]),
        ("+:{word:<3}|", ["alpha     |", "gammadelta|"]),
        ("+:{word:<3.3+}|", ["alpha     |", "gammadelta|"]),
        ("{count:3}|", [" 12|", "  3|"]),
        ("{count:03d}", ["012", "003"]),
        ("{share:.2f}", ["0.50", "0.12"]),
        ("{share!P:>6}", ["   50%", " 12.5%"]),
        ("{time!F:>5h}", ["    -", " 1.5h"]),
        ("{time!H:h}", ["-", "1:30:00"]),
        ("{zero:>3h}|{none:h}", ["  0|-", "  0|-"]),
        ("?:{none:<4} {word}", ["alpha", "gammadelta"]),
        ("{word} ?:{zero:>4}", ["alpha", "gammadelta"]),
        ("?+:{count:>1}.", ["12.", " 3."]),
        ("sort:word {word}", ["alpha", "gammadelta"]),
    ],
)  # fmt: skip
def test_what_a_description_gives(text: str, lines: list[str]) -> None:
    assert shown(text) == lines


def test_times_are_shown_in_the_readers_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    import time

    time.tzset()
    assert shown("{time!d:%H:%M::>6h}|") == ["     -|", " 01:30|"]
    assert shown("{time!D}") == ["", "1970-01-01T01:30:00"]


def test_the_header_is_as_wide_as_its_column() -> None:
    assert shown("+:{word:<2} {count:>6}", header=True)[0] == "WORD        COUNT"
    assert parse("{word:<6} {count}", fields).lines([], 0.0) == ["WORD   COUNT"]


def test_a_column_that_was_left_out_stays_so_in_later_parts() -> None:
    layout = parse("{word} ?:{none}", fields)
    assert layout.lines(ROWS[:1], 0.0) == ["WORD", "alpha"]
    assert layout.lines([{**ROWS[1], "none": "late"}], 0.0, header=False) == ["gammadelta"]


def test_when_everything_is_left_out_nothing_is_shown() -> None:
    assert parse("?:{none}", fields).lines(ROWS, 0.0) == []


def test_rows_are_sorted_by_several_keys_each_its_own_way() -> None:
    rows = [{"word": w, "count": c} for w, c in (("b", 1), ("a", 1), ("c", 2), ("d", ""))]
    ordered = sort_rows(rows, ["-count", "word"], lambda name: Field("", lambda row, now: row[name]), 0.0)
    assert [row["word"] for row in ordered] == ["c", "a", "b", "d"]


def test_names_become_a_description() -> None:
    assert listed(["word", "count"], fields) == "{word:<3} {count:<3}"


@pytest.mark.parametrize("text", ["", "no field", "{word", "word}", "{wrd}", "{word!X}", "{word:<<<}", "sort:x {word}"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse(text, fields)


@pytest.mark.parametrize("text", ["{word!F}", "{share:d}"])
def test_a_form_that_does_not_suit_the_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        shown(text)


def test_wide_letters_take_two_columns() -> None:
    assert (width_of("ƒuZZy"), width_of("✅"), width_of("日本")) == (5, 2, 4)
