from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.jobspec.update import DURATION, NAME, changes, updated


@pytest.mark.parametrize(
    ("value", "present", "result"),
    [(90, 60.0, 90.0), ("90", 0.0, 90.0), ("1.5h", 0.0, 5400.0), ("inf", 60.0, 0.0), (0, 60.0, 0.0),
     ("+30m", 60.0, 1860.0), ("-15", 60.0, 45.0)],
)  # fmt: skip
def test_a_duration_is_given_anew_or_relative_to_the_present_one(value: Any, present: float, result: float) -> None:
    assert changes({"duration": value}, present) == {DURATION: result}


@pytest.mark.parametrize(
    ("updates", "why"),
    [
        ({}, "nothing to change"),
        ({"queue": "x"}, "'queue' cannot be changed"),
        ({"duration": "+5"}, "no time limit"),
        ({"duration": -1}, "would make it -1 s"),
        ({"duration": float("nan")}, "would make it nan"),
        ({"duration": True}, "neither a number"),
        ({"duration": "soon"}, "invalid duration"),
        ({"name": ""}, "cannot be called"),
        ({"name": "a\nb"}, "cannot be called"),
        ({"name": 7}, "cannot be called"),
        ({"name": "a", NAME: "b"}, "given twice"),
    ],
)
def test_what_makes_no_sense_is_refused(updates: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        changes(updates, 0.0)


def test_nothing_is_left_of_a_limit_that_is_shortened_too_much() -> None:
    with pytest.raises(InvalidRequest, match="leaves nothing of 60 s"):
        changes({"duration": "-1m"}, 60.0)


def test_the_document_is_copied_where_it_changes() -> None:
    document: dict[str, Any] = {"tasks": [1], "attributes": {"system": {"duration": 1.0, "cwd": "/"}}}
    changed = updated(document, {DURATION: 2.0, NAME: "new"})
    assert changed["attributes"]["system"] == {"duration": 2.0, "cwd": "/", "job": {"name": "new"}}
    assert changed["tasks"] is document["tasks"]
    assert document == {"tasks": [1], "attributes": {"system": {"duration": 1.0, "cwd": "/"}}}
