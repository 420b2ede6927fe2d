"""What a job needs next."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fluxlike.job.actions import Action, wanted
from fluxlike.job.job import Job
from fluxlike.job.states import State

JobAfter = Callable[[str], Job]

PENDING = "submit validate depend priority"


@pytest.mark.parametrize(
    ("events", "action"),
    [
        ("submit", Action.VALIDATE),
        ("submit validate", Action.RESOLVE_DEPENDENCIES),
        ("submit validate dependency-add", Action.RESOLVE_DEPENDENCIES),
        ("submit validate depend", Action.PRIORITIZE),
        (PENDING, Action.REQUEST_RESOURCES),
        (f"{PENDING} urgency", Action.PRIORITIZE),
        (f"{PENDING} alloc", Action.START_TASKS),
        (f"{PENDING} alloc start", Action.START_TASKS),
        ("submit validate cancel", Action.CLEAN),
        ("submit validate cancel clean", Action.RETIRE),
        (f"{PENDING} alloc start finish", Action.FREE_RESOURCES),
        (f"{PENDING} alloc start finish release free", Action.CLEAN),
    ],
)
def test_next_step_follows_from_the_events(job_after: JobAfter, events: str, action: Action) -> None:
    assert wanted(job_after(events)) is action


@pytest.mark.parametrize(
    ("launched", "events", "action"),
    [
        (False, f"{PENDING} alloc cancel", Action.FREE_RESOURCES),
        (True, f"{PENDING} alloc cancel", Action.END_TASKS),
        (True, f"{PENDING} alloc start cancel", Action.END_TASKS),
        (True, f"{PENDING} alloc cancel start", Action.END_TASKS),
        (True, f"{PENDING} alloc start cancel finish", Action.FREE_RESOURCES),
        (True, f"{PENDING} alloc start cancel finish release free", Action.CLEAN),
    ],
)
def test_tasks_are_ended_only_if_they_may_exist(
    job_after: JobAfter, launched: bool, events: str, action: Action
) -> None:
    job = job_after(events)
    job.launched = launched
    assert wanted(job) is action


@pytest.mark.parametrize("state", list(State))
def test_every_state_wants_something(state: State) -> None:
    job = Job(7, "sha256-a", None)
    job.state = state
    assert isinstance(wanted(job), Action)
