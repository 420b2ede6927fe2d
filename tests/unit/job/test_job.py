"""Applying events: what each does, which are refused, and what a refusal leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fluxlike.errors import InvalidTransition
from fluxlike.job.job import CANCELED_BEFORE_START, LETTERS, Context, Job, apply, result, returncode, story
from fluxlike.job.states import EVENTS, State

JobAfter = Callable[[str], Job]
Fields = Callable[[Job], dict[str, Any]]
Event = Callable[[str], tuple[str, Context | None]]

PENDING = "submit validate depend priority"
RUNNING = f"{PENDING} alloc start"
ENDED = f"{RUNNING} finish release free clean"


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ("", State.NEW),
        ("submit", State.NEW),
        ("submit validate", State.DEPEND),
        ("submit validate dependency-add dependency-remove", State.DEPEND),
        ("submit validate depend", State.PRIORITY),
        (PENDING, State.SCHED),
        (f"{PENDING} priority", State.SCHED),
        (f"{PENDING} urgency", State.PRIORITY),
        (f"{PENDING} flux-restart", State.PRIORITY),
        (f"{PENDING} jobspec-update", State.PRIORITY),
        (f"{PENDING} alloc", State.RUN),
        (RUNNING, State.RUN),
        (f"{RUNNING} flux-restart memo resource-update warning", State.RUN),
        (f"{RUNNING} finish", State.CLEANUP),
        (f"{PENDING} alloc cancel start finish release free", State.CLEANUP),
        (ENDED, State.INACTIVE),
        ("submit validate cancel clean", State.INACTIVE),
        (f"{PENDING} alloc cancel release free clean", State.INACTIVE),
        (f"{RUNNING} debug.anything", State.RUN),
    ],
)
def test_events_lead_to_the_state_of_the_table(job_after: JobAfter, events: str, state: State) -> None:
    assert job_after(events).state is state


@pytest.mark.parametrize(
    ("events", "refused", "why"),
    [
        ("", "validate", "the first event is submit"),
        ("", "memo", "the first event is submit"),
        ("", "cancel", "the first event is submit"),
        ("", "debug.anything", "the first event is submit"),
        ("submit", "submit", "not allowed in NEW"),
        ("submit", "alloc", "not allowed in NEW"),
        ("submit", "no-such-event", "not allowed in NEW"),
        ("submit validate dependency-add", "depend", "dependencies remain"),
        ("submit validate", "dependency-remove", "no such dependency"),
        (PENDING, "start", "not allowed in SCHED"),
        (PENDING, "dependency-add", "not allowed in SCHED"),
        (f"{PENDING} alloc", "alloc", "not allowed in RUN"),
        (f"{PENDING} alloc", "free", "not allowed in RUN"),
        (RUNNING, "start", "it has started before"),
        (RUNNING, "urgency", "not allowed in RUN"),
        (f"{RUNNING} finish", "finish", "it has finished before"),
        (f"{RUNNING} finish", "clean", "resources are still allocated"),
        (f"{RUNNING} finish release free", "free", "nothing is allocated"),
        (f"{RUNNING} finish release free", "release", "nothing is allocated"),
        ("submit validate cancel", "start", "nothing is allocated"),
        ("submit validate cancel", "finish", "nothing is allocated"),
        (ENDED, "clean", "not allowed in INACTIVE"),
        (ENDED, "cancel", "not allowed in INACTIVE"),
        (ENDED, "memo", "not allowed in INACTIVE"),
        (ENDED, "debug.anything", "not allowed in INACTIVE"),
    ],
)
def test_refused_event_tells_the_story_and_touches_nothing(
    job_after: JobAfter, event: Event, fields: Fields, events: str, refused: str, why: str
) -> None:
    job = job_after(events)
    before = fields(job)
    name, context = event(refused)
    with pytest.raises(InvalidTransition, match=why) as caught:
        apply(job, 500.0, name, context)
    assert fields(job) == before
    assert str(caught.value).startswith(f"{name} is not allowed")
    assert str(caught.value).endswith(story(job))


def test_story_names_the_job_its_state_and_all_events(job_after: JobAfter) -> None:
    assert story(job_after("submit validate")) == "job ƒ8 is DEPEND after: submit validate"
    assert story(job_after("")) == "job ƒ8 is NEW after: nothing"


def test_story_of_a_retired_job_is_still_told_whole(job_after: JobAfter) -> None:
    job = job_after(f"{RUNNING} debug.anything finish release free clean")
    told = f"job ƒ8 is INACTIVE after: {RUNNING} debug finish release free clean"
    assert story(job) == told
    with pytest.raises(InvalidTransition, match=told):
        apply(job, 500.0, "memo")


def test_trail_numbers_the_next_event(job_after: JobAfter) -> None:
    assert (job_after("").seq, job_after(PENDING).seq, job_after(f"{RUNNING} debug.anything").seq) == (0, 4, 7)


def test_every_event_has_a_letter_of_its_own_in_the_trail() -> None:
    assert LETTERS.keys() == EVENTS
    assert len(set(LETTERS.values())) == len(EVENTS)
    assert all(len(letter) == 1 and letter != b"~" for letter in LETTERS.values())


def test_apply_returns_the_state_before(job_after: JobAfter) -> None:
    job = job_after(PENDING)
    assert apply(job, 500.0, "alloc") is State.SCHED
    assert job.state is State.RUN


def test_times_are_those_of_the_first_event_that_led_to_the_state(job_after: JobAfter) -> None:
    job = job_after(f"{PENDING} alloc start cancel cancel finish release free clean")
    times = (job.t_submit, job.t_depend, job.t_run, job.t_cleanup, job.t_inactive)
    assert times == (100.0, 101.0, 104.0, 106.0, 111.0)


def test_submit_sets_urgency_owner_and_flags() -> None:
    job = Job(7, "sha256-a", "3")
    apply(job, 1.0, "submit", {"urgency": 20, "userid": 42, "flags": ["waitable"], "version": 1})
    assert (job.urgency, job.userid, job.flags, job.cc) == (20, 42, ("waitable",), "3")


def test_dependencies_are_those_added_and_not_removed(job_after: JobAfter) -> None:
    job = job_after("submit validate dependency-add")
    apply(job, 2.0, "dependency-add", {"description": "begin-time=99"})
    apply(job, 3.0, "dependency-remove", {"description": "afterok=ƒ1"})
    assert job.dependencies == ("begin-time=99",)


def test_alloc_without_time_limit_never_expires(job_after: JobAfter) -> None:
    job = job_after(f"{PENDING} alloc")
    assert job.held
    assert job.expiration == 0.0


def test_time_limit_comes_with_alloc_and_may_be_moved(job_after: JobAfter) -> None:
    job = job_after(PENDING)
    apply(job, 10.0, "alloc", {"expiration": 70.0})
    assert job.expiration == 70.0
    apply(job, 11.0, "resource-update", {"expiration": 99.0})
    assert job.expiration == 99.0


def test_first_fatal_exception_is_the_cause(job_after: JobAfter) -> None:
    job = job_after(f"{RUNNING} warning timeout cancel")
    assert job.exception == ("timeout", 0, "resource allocation expired")


def test_mild_exception_is_no_cause(job_after: JobAfter) -> None:
    assert job_after(f"{RUNNING} warning").exception is None


@pytest.mark.parametrize(
    ("events", "status", "how", "code"),
    [
        (RUNNING, 0, "", 0),
        (ENDED, 0, "completed", 0),
        (ENDED, 256, "failed", 1),
        (ENDED, 9, "failed", 137),
        (ENDED, 9 | 0x80, "failed", 137),
        (f"{RUNNING} cancel finish release free clean", 15, "canceled", 143),
        (f"{RUNNING} timeout finish release free clean", 14, "timeout", 142),
        (f"{RUNNING} warning finish release free clean", 0, "completed", 0),
    ],
)
def test_result_and_return_code_follow_from_cause_and_status(
    job_after: JobAfter, events: str, status: int, how: str, code: int
) -> None:
    job = job_after(events)
    job.status = status
    assert result(job) == how
    assert returncode(job) == code


def test_job_cancelled_before_any_task_has_a_code_of_its_own(job_after: JobAfter) -> None:
    job = job_after("submit validate cancel clean")
    assert (result(job), returncode(job)) == ("canceled", CANCELED_BEFORE_START)


def test_job_whose_exception_is_of_another_kind_has_failed(job_after: JobAfter) -> None:
    job = job_after("submit validate")
    apply(job, 5.0, "exception", {"type": "depend", "severity": 0, "note": "never"})
    apply(job, 6.0, "clean")
    assert result(job) == "failed"
    assert job.exception == ("depend", 0, "never")


def test_repr_names_the_job_and_its_state(job_after: JobAfter) -> None:
    assert repr(job_after(PENDING)) == "<job ƒ8 SCHED>"


def test_ranks_that_are_through_before_others_are_remembered(job_after: JobAfter) -> None:
    job = job_after(f"{PENDING} alloc start")
    apply(job, 500.0, "memo", {"ended": {"rank": 3, "status": 256}})
    apply(job, 501.0, "memo", {"ended": {"rank": 1, "status": 0}})
    assert job.ended == {3: 256, 1: 0}


def test_every_event_has_a_letter_of_its_own() -> None:
    assert LETTERS.keys() == EVENTS
    assert len(set(LETTERS.values())) == len(LETTERS)
