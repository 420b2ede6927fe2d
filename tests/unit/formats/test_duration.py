from __future__ import annotations

import pytest

from fluxlike.duration import format_duration, parse_duration
from fluxlike.errors import InvalidRequest

INFINITY = float("inf")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2ms", 0.002),
        ("0.1s", 0.1),
        ("30", 30.0),
        ("1.2h", 4320.0),
        ("5m", 300.0),
        ("0s", 0.0),
        ("5d", 432000.0),
        ("inf", INFINITY),
        ("INF", INFINITY),
        ("infinity", INFINITY),
        (".5", 0.5),
        ("5.", 5.0),
        ("+5s", 5.0),
        ("1e3", 1000.0),
        ("1.5E-1s", 0.15),
        ("1e+06d", 86400e6),
        ("0x10", 16.0),
        ("0x1.8p1m", 180.0),
        ("0x1d", 29.0),
    ],
)
def test_text_means_these_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


def test_a_bare_number_counts_in_the_default_unit_and_a_unit_overrides_it() -> None:
    assert parse_duration("5", default_unit="m") == 300.0
    assert parse_duration("5s", default_unit="m") == 5.0
    assert parse_duration("inf", default_unit="m") == INFINITY


@pytest.mark.parametrize(
    "text",
    [
        "", "s", "ms", "-1", "-0", "-inf", "infs", "inf s", "nan",
        "NaN", "1 s", " 1", "1 ", "1S", "1M", "1us", "1w", "1h30m",
        "1:30", "1,5", "1_0", "1..2", "e5", "1e", "--1",
        "+-1", "1e400", "1e308d", "0x", "0xzz", "0x1p99999", "١s", "five",
    ],
)  # fmt: skip
def test_what_is_no_duration_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_duration(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.002, "2ms"),
        (0.0621, "62.1ms"),
        (0.1, "0.1s"),
        (1.5, "1.5s"),
        (59.0, "59s"),
        (60.0, "1m"),
        (150.0, "2.5m"),
        (10800.0, "3h"),
        (86400.0, "1d"),
        (100 * 86400.0, "100d"),
        (INFINITY, "infinity"),
    ],
)
def test_seconds_print_in_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), -INFINITY])
def test_what_is_no_duration_cannot_be_printed(seconds: float) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        format_duration(seconds)
