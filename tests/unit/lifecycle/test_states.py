"""The life of a broker, walked as a table."""

from __future__ import annotations

import pytest

from fluxlike.errors import InvalidTransition
from fluxlike.lifecycle.states import HARMLESS, NEXT, Happening, Phase, after

ALIVE = [phase for phase in Phase if phase is not Phase.EXIT]
ORDER = list(Phase)


def ways_out(phase: Phase) -> set[Phase]:
    return {target for (source, _), target in NEXT.items() if source is phase}


def reached_from(start: Phase) -> set[Phase]:
    found, left = {start}, [start]
    while left:
        fresh = ways_out(left.pop()) - found
        found |= fresh
        left.extend(fresh)
    return found


@pytest.mark.parametrize("phase", ALIVE)
def test_every_phase_has_a_way_out_and_reaches_exit(phase: Phase) -> None:
    assert ways_out(phase)
    assert Phase.EXIT in reached_from(phase)


def test_every_phase_is_reached_from_join() -> None:
    assert reached_from(Phase.JOIN) == set(Phase)


def test_exit_is_the_end() -> None:
    assert not ways_out(Phase.EXIT)


def test_life_goes_forward_only() -> None:
    assert all(ORDER.index(target) > ORDER.index(source) for (source, _), target in NEXT.items())


def test_the_usual_life() -> None:
    phase = Phase.JOIN
    seen = []
    for happening in ("joined", "ready", "quorum-full", "program-ended", "jobs-ended", "children-gone"):
        phase = after(phase, Happening(happening))
        seen.append(str(phase))
    assert seen == ["init", "quorum", "run", "cleanup", "shutdown", "exit"]


@pytest.mark.parametrize("phase", ALIVE)
@pytest.mark.parametrize("happening", [Happening.STOP, Happening.PANIC])
def test_whoever_is_told_to_stop_gets_on_the_way_to_exit(phase: Phase, happening: Happening) -> None:
    assert after(phase, happening) in (Phase.CLEANUP, Phase.SHUTDOWN)


@pytest.mark.parametrize("phase", [Phase.JOIN, Phase.INIT])
def test_stop_before_there_can_be_jobs_cleans_nothing_up(phase: Phase) -> None:
    assert after(phase, Happening.STOP) is Phase.SHUTDOWN


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("happening", list(Happening))
def test_happening_moves_a_broker_or_is_harmless_or_is_refused(phase: Phase, happening: Happening) -> None:
    moves = (phase, happening) in NEXT
    harmless = phase in HARMLESS.get(happening, ())
    assert not (moves and harmless)
    if moves:
        assert after(phase, happening) is NEXT[phase, happening]
    elif harmless:
        assert after(phase, happening) is phase
    else:
        with pytest.raises(InvalidTransition, match=f"{happening} in phase {phase}"):
            after(phase, happening)


@pytest.mark.parametrize("phase", [Phase.SHUTDOWN, Phase.EXIT])
def test_store_that_opens_after_the_stop_changes_nothing(phase: Phase) -> None:
    assert after(phase, Happening.READY) is phase


def test_attaching_again_to_another_parent_is_no_second_birth() -> None:
    assert after(Phase.RUN, Happening.JOINED) is Phase.RUN
