from __future__ import annotations

import pytest

from fluxlike.jobspec.count import parse_count
from fluxlike.jobspec.model import Count


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (4, [4]),
        ("4", [4]),
        ("[4]", [4]),
        ("2-5", [2, 3, 4, 5]),
        ("2-9:3", [2, 5, 8]),
        ("3+:4", [3, 7, 11, 15, 19]),
        ("1-16:2:*", [1, 2, 4, 8, 16]),
        ("2+:2:^", [2, 4, 16]),
        ("[4,9,16-17]", [4, 9, 16, 17]),
        ({"min": 18}, [18, 19, 20]),
        ({"min": 3, "max": 3}, [3]),
        ({"min": 3, "max": 30, "operator": "*", "operand": 3}, [3, 9]),
        ({"min": 6, "operator": "+", "operand": 5}, [6, 11, 16]),
        (21, []),
    ],
)
def test_acceptable_counts_up_to_twenty(given: object, values: list[int]) -> None:
    assert list(parse_count(given, "count").values(20)) == values


def test_lowest_count_is_the_minimum() -> None:
    assert [parse_count(given, "").low for given in (7, "3-9", "4,9", {"min": 2})] == [7, 3, 4, 2]


def test_only_a_single_value_is_fixed() -> None:
    assert parse_count(7, "").fixed
    assert parse_count({"min": 7, "max": 7}, "") == Count.exactly(7)
    assert not parse_count("4,9", "").fixed
    assert not parse_count({"min": 7}, "").fixed


def test_list_without_gaps_is_a_range() -> None:
    assert parse_count("3,4,5", "") == parse_count("3-5", "") == Count(3, 5)


@pytest.mark.parametrize(
    ("given", "document"),
    [
        (4, 4),
        ("3-30", {"min": 3, "max": 30}),
        ("100+", {"min": 100}),
        ("1-64:2:*", {"min": 1, "max": 64, "operator": "*", "operand": 2}),
        ("[4,9]", "4,9"),
    ],
)
def test_count_is_written_in_its_plainest_form(given: object, document: object) -> None:
    assert parse_count(given, "").to_json() == document
