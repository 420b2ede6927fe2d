from __future__ import annotations

import json

from report import Row, Unanswered, document, summary, table


def a_row(value: float, limit: float | None, *, at_least: bool = False, **facts: object) -> Row:
    return Row("speed", value, "jobs/s", limit, detail="here", facts=facts, at_least=at_least)


def test_a_ceiling_is_met_from_below_and_a_floor_from_above() -> None:
    assert a_row(2, 3).met
    assert not a_row(4, 3).met
    assert a_row(4, 3, at_least=True).met
    assert not a_row(2, 3, at_least=True).met


def test_of_a_floor_more_than_all_is_used_when_it_is_missed() -> None:
    assert a_row(200, 100, at_least=True).cells()[2:] == ("at least 100 jobs/s", "50%", "met")
    assert a_row(50, 100, at_least=True).cells()[2:] == ("at least 100 jobs/s", "200%", "MISSED")


def test_too_few_jobs_make_a_verdict_weak() -> None:
    assert a_row(200, 100, at_least=True, small=True).verdict == "met?, small"


def test_what_is_only_for_information_has_no_verdict() -> None:
    assert a_row(200, None).met is None
    assert a_row(200, None).verdict == ""


def test_a_budget_that_was_not_looked_at_is_not_met_and_says_why() -> None:
    row = Unanswered("speed", "no cc | no fun")
    assert row.met is False
    assert row.cells() == ("speed", "no cc / no fun", "", "", "not measured")


def test_a_peer_without_a_budget_may_be_absent() -> None:
    assert Unanswered("Slurm", "not installed", budget=False).met is None


def test_summary_counts_budgets_and_names_those_that_are_not_met() -> None:
    rows = [a_row(1, 2), a_row(3, 2), a_row(9, None), Unanswered("store", "no server")]
    assert summary(rows).splitlines() == ["budgets met: 1 of 3", "MISSED: speed", "not measured: store"]


def test_document_with_an_unanswered_question_is_strict_json() -> None:
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is no JSON")

    read = json.loads(document([Unanswered("store", "no server")], {}), parse_constant=refuse)
    assert read["rows"][0]["value"] is None
    assert read["rows"][0]["why"] == "no server"


def test_all_lines_of_a_table_are_equally_long() -> None:
    lines = table([a_row(1, 2), Unanswered("a store elsewhere", "no server")]).splitlines()
    assert len({len(line) for line in lines}) == 1
