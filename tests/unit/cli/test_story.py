from __future__ import annotations

from typing import Any

import pytest

from fluxlike_cli.story import Story
from tests.unit.cli.conftest import BEGINNING, life


def told(events: list[list[Any]]) -> Story:
    story = Story()
    for _, name, context in events:
        story.add(name, context or {})
    return story


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3 << 8, 3), (9, 137), (11 | 0x80, 139), (127 << 8, 127)])
def test_the_exit_code_follows_from_the_wait_status(status: int, code: int) -> None:
    assert told(life(status)).exit_code == code


def test_a_job_that_an_exception_ended_is_no_success() -> None:
    fatal = [1.5, "exception", {"type": "cancel", "severity": 0, "note": ""}]
    assert told([*BEGINNING, fatal]).exit_code == 1
    assert told([*life(0), fatal]).exit_code == 1


def test_its_tasks_exit_code_counts_more_than_the_exception() -> None:
    fatal = [1.5, "exception", {"type": "timeout", "severity": 0, "note": ""}]
    assert told([fatal, *life(14)]).exit_code == 142


def test_an_exception_that_informs_changes_nothing() -> None:
    assert told([*life(0), [1.5, "exception", {"type": "note", "severity": 3}]]).exit_code == 0


def test_what_a_job_waits_for() -> None:
    assert told(BEGINNING).waits_for == "waiting for resources"
    assert told(BEGINNING[:2]).waits_for == "waiting for dependencies"


def test_tasks_run_between_start_and_finish() -> None:
    assert [told(life()[:count]).running for count in (5, 6, 7)] == [False, True, False]
