from __future__ import annotations

from pathlib import Path

import click
import pytest

from fluxlike_cli.options.environment import environment

CURRENT = {"PATH": "/bin", "HOME": "/root", "OMP_NUM_THREADS": "4", "OMP_PLACES": "cores"}


def test_without_rules_the_whole_environment_is_copied() -> None:
    assert environment([], CURRENT) == CURRENT


def test_what_belongs_to_the_submitting_task_is_not_copied() -> None:
    inherited = {"FLUX_JOB_CC": "3", "FLUX_TASK_RANK": "0", "PMI_RANK": "0", "FLUXLIKE_URI": "local:///x"}
    assert environment([], inherited) == {"FLUXLIKE_URI": "local:///x"}


@pytest.mark.parametrize("rule", ["-OMP_*", "-/^OMP_/", "-/^OMP_"])
def test_a_minus_removes_what_a_pattern_or_regex_matches(rule: str) -> None:
    assert environment([rule], CURRENT) == {"PATH": "/bin", "HOME": "/root"}


def test_rules_apply_in_order() -> None:
    assert environment(["-*", "OMP_*", "-OMP_PLACES", "X=1"], CURRENT) == {"OMP_NUM_THREADS": "4", "X": "1"}


def test_a_name_copied_back_does_not_undo_a_setting() -> None:
    assert environment(["PATH=/opt", "PATH"], CURRENT)["PATH"] == "/opt"


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("A=$PATH:/x", "/bin:/x"),
        ("A=${HOME}x", "/rootx"),
        ("A=5$$", "5$"),
        ("A=b=c", "b=c"),
        ("A=", ""),
        ("A={{id}}", "{{id}}"),
    ],
)
def test_values_have_variables_replaced(rule: str, value: str) -> None:
    assert environment([rule], CURRENT)["A"] == value


def test_a_value_sees_variables_set_before_it_and_those_removed() -> None:
    made = environment(["-*", "A=1", "B=$A$HOME"], CURRENT)
    assert made == {"A": "1", "B": "1/root"}


def test_a_file_holds_rules_one_per_line(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("# only these\n-*\n\nHOME\nA=1\n")
    assert environment([f"^{rules}"], CURRENT) == {"HOME": "/root", "A": "1"}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("=1", "names no variable"),
        ("-", "empty pattern"),
        ("A=$NOT_SET", "NOT_SET is not set"),
        ("A=5$", "written \\$\\$"),
        ("-/(", "not a regular expression"),
        ("^/no/such/file", "/no/such/file"),
    ],
)
def test_a_bad_rule_is_a_usage_error_that_says_why(rule: str, words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        environment([rule], CURRENT)


def test_rule_files_in_a_circle_are_refused(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text(f"^{rules}\n")
    with pytest.raises(click.UsageError, match="nested"):
        environment([f"^{rules}"], CURRENT)
