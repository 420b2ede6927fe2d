"""Whatever legally happens to a job: its log tells all of it, and the job can always be brought to an end."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxlike.errors import InvalidTransition
from fluxlike.job.actions import Action, wanted
from fluxlike.job.eventlog import line, parse
from fluxlike.job.job import LETTERS, Context, Event, Job, apply, check, result, story
from fluxlike.job.states import EVENTS, NEXT, RESULTS, State
from fluxlike.job.summary import from_summary, summary_of

DESCRIPTIONS = st.sampled_from(["afterok=ƒ1", "afterany=ƒ2", "begin-time=99"])
TIMES = st.floats(0, 2e9)

CONTEXTS: dict[str, st.SearchStrategy[Context | None]] = {
    "submit": st.fixed_dictionaries(
        {"urgency": st.integers(0, 31), "userid": st.integers(0, 2**31), "flags": st.lists(st.just("debug"))}
    ),
    "dependency-add": st.fixed_dictionaries({"description": DESCRIPTIONS}),
    "dependency-remove": st.fixed_dictionaries({"description": DESCRIPTIONS}),
    "priority": st.fixed_dictionaries({"priority": st.integers(0, 2**32 - 1)}),
    "urgency": st.fixed_dictionaries({"urgency": st.integers(0, 31)}),
    "alloc": st.one_of(st.none(), st.fixed_dictionaries({"expiration": TIMES})),
    "resource-update": st.fixed_dictionaries({"expiration": TIMES}),
    "finish": st.fixed_dictionaries({"status": st.integers(0, 0xFFFF)}),
    "exception": st.fixed_dictionaries(
        {"type": st.sampled_from(["cancel", "timeout", "exec"]), "severity": st.integers(0, 7)},
        optional={"note": st.text(max_size=5)},
    ),
}

NAMES = st.sampled_from([*sorted(EVENTS), "debug.probe", "no-such-event"])


@st.composite
def happenings(draw: st.DrawFn) -> Event:
    name = draw(NAMES)
    return draw(TIMES), name, draw(CONTEXTS.get(name, st.none()))


STORIES = st.lists(happenings(), max_size=60)
"""Events in any order. Most are refused; what is left is a legal life."""

USUAL = ["submit", "validate", "depend", "priority", "alloc", "start", "finish", "release", "free", "clean"]


@st.composite
def lives(draw: st.DrawFn) -> list[Event]:
    """The usual course of a job with other things in between: gets far where pure chance does not."""
    life: list[Event] = []
    for name in USUAL:
        life += draw(st.lists(happenings(), max_size=2))
        life.append((draw(TIMES), name, draw(CONTEXTS.get(name, st.none()))))
    return life


def fields(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in Job.__slots__}


def refusal(job: Job, timestamp: float, name: str, context: Context | None) -> str:
    """Apply the event; what was said against it, empty if nothing was."""
    try:
        apply(job, timestamp, name, context)
    except InvalidTransition as error:
        return str(error)
    return ""


def live(happened: list[Event], kept: list[Event] | None = None) -> Job:
    """Apply what is allowed, and append it to `kept`; what is not must leave no trace."""
    job = Job(2**60 + 5, "sha256-a", "x")
    for row in happened:
        before = fields(job)
        refused = refusal(job, *row)
        if refused:
            assert fields(job) == before
            assert refused.endswith(story(job))
        elif kept is not None:
            kept.append(row)
    return job


def replay(events: list[Event]) -> Job:
    job = Job(2**60 + 5, "sha256-a", "x")
    for row in events:
        apply(job, *row)
    return job


@given(st.one_of(STORIES, lives()), st.integers(1, 7))
def test_replaying_the_log_gives_the_live_job_field_by_field(happened: list[Event], width: int) -> None:
    """However its lines were put together into parts."""
    log: list[Event] = []
    job = live(happened, log)
    lines = [line(*row) for row in log]
    parts = [",".join(lines[start : start + width]) for start in range(0, len(lines), width)]
    assert parse(["", *parts, ""]) == log
    assert fields(replay(parse(parts))) == fields(job)


@given(st.one_of(STORIES, lives()))
def test_log_begins_with_submit_and_the_trail_tells_every_event(happened: list[Event]) -> None:
    log: list[Event] = []
    job = live(happened, log)
    names = [name for _, name, _ in log]
    assert job.seq == len(log)
    assert names.count("submit") == (job.seq > 0)
    assert names[:1] == ["submit"] * bool(log)
    told = " ".join("debug" if name.startswith("debug.") else name for name in names)
    assert story(job).endswith(f"after: {told or 'nothing'}")


@given(st.one_of(STORIES, lives()), happenings())
def test_check_says_beforehand_what_apply_will_do(happened: list[Event], last: Event) -> None:
    job = live(happened)
    _, name, context = last
    before, state = fields(job), job.state
    try:
        following: State | None = check(job, name, context)
    except InvalidTransition:
        following = None
    assert fields(job) == before
    assert bool(refusal(job, *last)) == (following is None)
    assert job.state is (state if following is None else following)


STEPS: dict[Action, list[tuple[str, Context | None]]] = {
    Action.VALIDATE: [("validate", None)],
    Action.RESOLVE_DEPENDENCIES: [("depend", None)],
    Action.PRIORITIZE: [("priority", {"priority": 16})],
    Action.REQUEST_RESOURCES: [("alloc", None)],
    Action.START_TASKS: [("finish", {"status": 0})],
    Action.END_TASKS: [("finish", {"status": 15})],
    Action.FREE_RESOURCES: [("release", {"ranks": "all", "final": True}), ("free", None)],
    Action.CLEAN: [("clean", None)],
}


def drive(job: Job) -> None:
    """Do what the job wants until it wants no more; each step must be allowed."""
    for _ in range(10):
        if job.state is State.INACTIVE:
            return
        for dependency in set(job.dependencies) if job.state is State.DEPEND else ():
            apply(job, 0.0, "dependency-remove", {"description": dependency})
        for name, context in STEPS[wanted(job)]:
            apply(job, 0.0, name, context)
    raise AssertionError(f"never ends: {story(job)}")


@given(st.one_of(STORIES, lives()), st.booleans(), st.booleans())
def test_doing_what_a_job_wants_always_ends_it(happened: list[Event], launched: bool, cancelled: bool) -> None:
    job = live([(0.0, "submit", {"urgency": 16, "userid": 0}), *happened])
    job.launched = launched and job.held
    if cancelled and job.state is not State.INACTIVE:
        apply(job, 0.0, "exception", {"type": "cancel", "severity": 0})
    drive(job)
    assert wanted(job) is Action.RETIRE
    assert not job.held
    assert result(job) in RESULTS


@given(st.one_of(STORIES, lives()))
def test_summary_brings_back_every_field_of_an_ended_job(
    happened: list[Event],
) -> None:
    job = live([(0.0, "submit", {"urgency": 16, "userid": 0}), *happened])
    drive(job)
    job.retired = True
    fresh = Job(job.id, job.digest, job.cc)
    assert from_summary(fresh, msgpack.unpackb(msgpack.packb(summary_of(job, [[0, 3, 0]])))) == [[0, 3, 0]]
    assert fields(fresh) == fields(job)


@given(st.sampled_from(sorted(NEXT, key=str)))
def test_events_of_the_table_are_refused_in_no_other_state_silently(row: tuple[State, str]) -> None:
    """An event either moves a job as the table says or is refused: there is no third way."""
    _, name = row
    for state in State:
        if (state, name) not in NEXT:
            job = Job(7, "sha256-a", None)
            job.state, job.trail = state, LETTERS["submit"]
            severity = {"severity": 0} if name not in EVENTS else {"severity": 1}
            with pytest.raises(InvalidTransition):
                check(job, name if name in EVENTS else "exception", severity)
