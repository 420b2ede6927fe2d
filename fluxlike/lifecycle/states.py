"""Broker states, the events that drive them, and nothing else (docs/rfc/002)."""

from __future__ import annotations

from enum import StrEnum

from fluxlike.errors import InvalidTransition


class Phase(StrEnum):
    JOIN = "join"
    """Attach to a parent (the root has none and passes at once)."""
    INIT = "init"
    """Open the store, reach the executor, offer services."""
    QUORUM = "quorum"
    """Wait until enough ranks are online."""
    RUN = "run"
    CLEANUP = "cleanup"
    """End running jobs."""
    SHUTDOWN = "shutdown"
    """Wait for the children to leave."""
    EXIT = "exit"


class Happening(StrEnum):
    JOINED = "joined"
    READY = "ready"
    QUORUM_FULL = "quorum-full"
    PROGRAM_ENDED = "program-ended"
    STOP = "stop"
    JOBS_ENDED = "jobs-ended"
    CHILDREN_GONE = "children-gone"
    PANIC = "panic"
    """Cut off for good: no ancestor answers."""


NEXT: dict[tuple[Phase, Happening], Phase] = {
    (Phase.JOIN, Happening.JOINED): Phase.INIT,
    (Phase.INIT, Happening.READY): Phase.QUORUM,
    (Phase.QUORUM, Happening.QUORUM_FULL): Phase.RUN,
    (Phase.RUN, Happening.PROGRAM_ENDED): Phase.CLEANUP,
    (Phase.CLEANUP, Happening.JOBS_ENDED): Phase.SHUTDOWN,
    (Phase.SHUTDOWN, Happening.CHILDREN_GONE): Phase.EXIT,
    # A stop before there can be jobs has nothing to clean up.
    (Phase.JOIN, Happening.STOP): Phase.SHUTDOWN,
    (Phase.INIT, Happening.STOP): Phase.SHUTDOWN,
    (Phase.QUORUM, Happening.STOP): Phase.CLEANUP,
    (Phase.RUN, Happening.STOP): Phase.CLEANUP,
    **{(phase, Happening.PANIC): Phase.SHUTDOWN for phase in (Phase.JOIN, Phase.INIT, Phase.QUORUM, Phase.RUN)},
}

HARMLESS: dict[Happening, frozenset[Phase]] = {
    Happening.JOINED: frozenset(Phase) - {Phase.JOIN},  # a re-attach after the parent died
    Happening.READY: frozenset({Phase.SHUTDOWN, Phase.EXIT}),  # told to stop while the store was being opened
    Happening.QUORUM_FULL: frozenset({Phase.RUN, Phase.CLEANUP, Phase.SHUTDOWN, Phase.EXIT}),
    Happening.STOP: frozenset({Phase.CLEANUP, Phase.SHUTDOWN, Phase.EXIT}),
    Happening.PROGRAM_ENDED: frozenset({Phase.CLEANUP, Phase.SHUTDOWN, Phase.EXIT}),
    Happening.PANIC: frozenset({Phase.CLEANUP, Phase.SHUTDOWN, Phase.EXIT}),
    Happening.CHILDREN_GONE: frozenset(Phase) - {Phase.SHUTDOWN},
}
"""Repeats and late news that change nothing."""


def after(phase: Phase, happening: Happening) -> Phase:
    """Raises InvalidTransition for what may not happen."""
    following = NEXT.get((phase, happening))
    if following is not None:
        return following
    if phase in HARMLESS.get(happening, ()):
        return phase
    raise InvalidTransition(f"broker event {happening} in phase {phase}")
