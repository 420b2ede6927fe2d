from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import run


def test_all_questions_are_asked_unless_some_are_named_or_left_out() -> None:
    assert run.chosen(run.read([])) == list(run.QUESTIONS)
    assert run.chosen(run.read(["rpc", "memory"])) == ["rpc", "memory"]
    left = run.chosen(run.read(["--without", "million_done", "--without", "million_pending"]))
    assert set(run.QUESTIONS) - set(left) == {"million_done", "million_pending"}


@pytest.mark.parametrize("words", [["trhoughput"], ["--without", "trhoughput"]])
def test_a_question_that_does_not_exist_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.read(words)
    assert "there is no question trhoughput; there are startup" in capsys.readouterr().err


@pytest.mark.parametrize("name", run.QUESTIONS)
def test_every_question_is_a_module_that_says_what_it_asks(name: str) -> None:
    module = importlib.import_module(name)
    assert callable(module.measure)
    assert module.__doc__.rstrip().endswith("?")


def test_every_module_that_measures_is_a_question() -> None:
    measuring = {path.stem for path in Path(run.__file__).parent.glob("*.py") if "\ndef measure(" in path.read_text()}
    assert measuring == set(run.QUESTIONS)
