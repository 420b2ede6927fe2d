"""The usual ways of a job in one step: as if each event had been applied, wherever such a way may begin."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from fluxlike.errors import InvalidTransition
from fluxlike.job import passage
from fluxlike.job.eventlog import line, parse
from fluxlike.job.job import Context, Event, Job, apply

TIMES = st.floats(0, 2e9)
STATUSES = st.integers(0, 0xFFFF)
MILD: Context = {"type": "warning", "severity": 3, "note": "smells"}


@st.composite
def contexts(draw: st.DrawFn) -> Context:
    """Of a submit event."""
    return {
        "urgency": draw(st.integers(0, 31)),
        "userid": draw(st.integers(0, 2**31)),
        "flags": draw(st.lists(st.sampled_from(["debug", "waitable"]), unique=True)),
        "version": 1,
    }


def asides(name: str) -> st.SearchStrategy[list[Event]]:
    """What may happen on the way, after the event of this name."""
    common: list[tuple[str, Context | None]] = [("memo", None), ("exception", MILD), ("debug.probe", None)]
    of_its_own: dict[str, list[tuple[str, Context | None]]] = {
        "validate": [
            ("dependency-add", {"description": "afterok=ƒ1"}),
            ("dependency-remove", {"description": "afterok=ƒ1"}),
            ("urgency", {"urgency": 7}),
        ],
        "priority": [("priority", {"priority": 99}), ("flux-restart", None), ("urgency", {"urgency": 3})],
        "alloc": [
            ("resource-update", {"expiration": 70.0}),
            ("memo", {"ended": {"rank": 3, "status": 256}}),
            ("start", None),
        ],
    }
    rows = st.sampled_from([*common, *of_its_own.get(name, [])])
    return st.lists(st.tuples(TIMES, rows).map(lambda row: (row[0], *row[1])), max_size=3)


@st.composite
def stories(draw: st.DrawFn, last: str) -> list[Event]:
    """From submit up to this event, with other things in between that may or may not be allowed."""
    events: list[Event] = []
    way = ["submit", "validate", "depend", "priority", "alloc"]
    for name in way[: way.index(last) + 1]:
        context = {"submit": contexts(), "priority": st.just({"priority": 16})}.get(name, st.none())
        events.append((draw(TIMES), name, draw(context)))
        events += draw(asides(name))
    return events


def fields(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in Job.__slots__}


def twins(story: list[Event]) -> tuple[Job, Job]:
    """The same job twice, after all of the story that was allowed."""
    jobs = Job(2**60 + 5, "sha256-a", "x"), Job(2**60 + 5, "sha256-a", "x")
    for job in jobs:
        for row in story:
            try:
                apply(job, *row)
            except InvalidTransition:
                continue
    return jobs


def walk(job: Job, events: list[Event]) -> None:
    for row in events:
        apply(job, *row)


@given(TIMES, contexts(), st.integers(0, 2**32 - 1))
def test_admission_is_submit_validate_depend_and_priority(when: float, context: Context, priority: int) -> None:
    quick, slow = twins([])
    admission = passage.Admission(when, context, priority)
    admission.admit(quick)
    events: list[Event] = [
        (when, "submit", context),
        (when, "validate", None),
        (when, "depend", None),
        (when, "priority", {"priority": priority}),
    ]
    walk(slow, events)
    assert fields(quick) == fields(slow)
    assert parse([admission.text]) == events


@given(stories("priority"), TIMES, st.one_of(st.just(0.0), TIMES))
def test_allocation_is_one_event(story: list[Event], when: float, expiration: float) -> None:
    quick, slow = twins(story)
    assume(passage.can_be_allocated(quick))
    passage.allocate(quick, when, expiration)
    apply(slow, when, "alloc", {"expiration": expiration} if expiration else None)
    assert fields(quick) == fields(slow)


@given(stories("alloc"), TIMES)
def test_start_is_one_event_and_possible_just_when_the_table_allows_it(story: list[Event], when: float) -> None:
    quick, slow = twins(story)
    try:
        apply(slow, when, "start")
    except InvalidTransition:
        assert not passage.can_start(quick)
        return
    assert passage.can_start(quick)
    passage.start(quick)
    assert fields(quick) == fields(slow)


@given(stories("alloc"), TIMES, TIMES, STATUSES)
def test_end_is_finish_release_free_and_clean(story: list[Event], when: float, now: float, status: int) -> None:
    quick, slow = twins(story)
    assume(passage.can_end(quick))
    text = passage.end(quick, when, now, status)
    events: list[Event] = [
        (when, "finish", {"status": status}),
        (now, "release", {"ranks": "all", "final": True}),
        (now, "free", None),
        (now, "clean", None),
    ]
    walk(slow, events)
    assert fields(quick) == fields(slow)
    assert parse([text]) == events
    assert text == ",".join(line(*row) for row in events)


@given(stories("alloc"), TIMES, st.sampled_from(["cancel", "timeout"]), st.booleans())
def test_job_that_is_ending_takes_no_short_way(story: list[Event], when: float, kind: str, finished: bool) -> None:
    """It hears of its tasks one event at a time, and may hear of a finish only once."""
    job, _ = twins(story)
    assume(passage.can_end(job))
    apply(job, when, "exception", {"type": kind, "severity": 0, "note": ""})
    if finished:
        apply(job, when, "finish", {"status": 15})
    assert not passage.can_be_allocated(job)
    assert not passage.can_start(job)
    assert not passage.can_end(job)
