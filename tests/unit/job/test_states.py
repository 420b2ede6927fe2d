"""The table of states, walked."""

from __future__ import annotations

import pytest

from fluxlike.job.states import ACTIVE, EVENTS, FATAL, MASKS, NEXT, PENDING, RUNNING, State, names_of

ALIVE = [state for state in State if state is not State.INACTIVE]

ORDER = list(State)


def ways_out(state: State) -> set[State]:
    return {target for (source, _), target in NEXT.items() if source is state and target is not state}


def reached_from(start: State) -> set[State]:
    found, left = {start}, [start]
    while left:
        fresh = ways_out(left.pop()) - found
        found |= fresh
        left.extend(fresh)
    return found


@pytest.mark.parametrize("state", ALIVE)
def test_every_state_has_a_way_out(state: State) -> None:
    assert ways_out(state)


@pytest.mark.parametrize("state", ALIVE)
def test_every_state_reaches_inactive(state: State) -> None:
    assert State.INACTIVE in reached_from(state)


def test_every_state_is_reached_from_new() -> None:
    assert reached_from(State.NEW) == set(State)


def test_nothing_happens_to_an_inactive_job() -> None:
    assert not [name for state, name in NEXT if state is State.INACTIVE]


def test_only_cleanup_leads_to_inactive() -> None:
    assert {source for (source, _), target in NEXT.items() if target is State.INACTIVE} == {State.CLEANUP}


@pytest.mark.parametrize("state", ALIVE)
def test_fatal_exception_sends_every_live_job_to_cleanup(state: State) -> None:
    assert NEXT[state, FATAL] is State.CLEANUP


@pytest.mark.parametrize("state", ALIVE)
@pytest.mark.parametrize("name", ["exception", "memo"])
def test_mild_exceptions_and_memos_change_no_state(state: State, name: str) -> None:
    assert NEXT[state, name] is state


def test_the_only_way_back_is_from_sched_to_priority() -> None:
    back = {(s, t) for (s, _), t in NEXT.items() if ORDER.index(t) < ORDER.index(s)}
    assert back == {(State.SCHED, State.PRIORITY)}


def test_states_are_bits_and_virtual_states_are_masks_of_them() -> None:
    assert all(int(state).bit_count() == 1 for state in State)
    assert names_of(PENDING) == ["depend", "priority", "sched"]
    assert names_of(RUNNING) == ["run", "cleanup"]
    assert names_of(ACTIVE) == ["new", "depend", "priority", "sched", "run", "cleanup"]
    assert sum(State) == ACTIVE | State.INACTIVE


def test_every_state_can_be_named_by_a_user() -> None:
    assert {name: MASKS[name] for name in ("run", "inactive")} == {"run": 16, "inactive": 64}
    assert set(MASKS) == {state.name.lower() for state in State} | {"pending", "running", "active"}


def test_events_are_all_that_the_table_names_and_submit() -> None:
    assert {name for _, name in NEXT} - {FATAL} | {"submit"} == EVENTS
