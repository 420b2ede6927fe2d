"""Which event may happen in which state, and where it leads (docs/rfc/004, after Flux RFC 21). The one place."""

from __future__ import annotations

from enum import IntEnum


class State(IntEnum):
    """Values are bits, so that a set of states is a mask."""

    NEW = 1
    DEPEND = 2
    PRIORITY = 4
    SCHED = 8
    RUN = 16
    CLEANUP = 32
    INACTIVE = 64


PENDING = State.DEPEND | State.PRIORITY | State.SCHED
RUNNING = State.RUN | State.CLEANUP
ACTIVE = State.NEW | PENDING | RUNNING

FATAL = "exception (fatal)"
"""How the table names an exception of severity 0; milder ones are plain `exception`."""

_FORWARD: dict[tuple[State, str], State] = {
    (State.NEW, "validate"): State.DEPEND,
    (State.DEPEND, "dependency-add"): State.DEPEND,
    (State.DEPEND, "dependency-remove"): State.DEPEND,
    (State.DEPEND, "depend"): State.PRIORITY,
    (State.PRIORITY, "priority"): State.SCHED,
    (State.SCHED, "priority"): State.SCHED,
    (State.SCHED, "alloc"): State.RUN,
    (State.RUN, "start"): State.RUN,
    (State.RUN, "resource-update"): State.RUN,
    (State.RUN, "finish"): State.CLEANUP,
    # A job cancelled between its alloc and the news of its start still hears of both start and finish.
    (State.CLEANUP, "start"): State.CLEANUP,
    (State.CLEANUP, "finish"): State.CLEANUP,
    # Of the tasks of an array job, which has its alloc and start with the first of them and its finish with the last.
    (State.RUN, "task-alloc"): State.RUN,
    (State.RUN, "task-start"): State.RUN,
    (State.RUN, "task-finish"): State.RUN,
    (State.SCHED, "task-exception"): State.SCHED,
    (State.RUN, "task-exception"): State.RUN,
    (State.CLEANUP, "task-start"): State.CLEANUP,
    (State.CLEANUP, "task-finish"): State.CLEANUP,
    (State.CLEANUP, "task-exception"): State.CLEANUP,
    (State.CLEANUP, "release"): State.CLEANUP,
    (State.CLEANUP, "free"): State.CLEANUP,
    (State.CLEANUP, "clean"): State.INACTIVE,
}

_UPDATES: dict[tuple[State, str], State] = {
    (State.DEPEND, "urgency"): State.DEPEND,
    (State.PRIORITY, "urgency"): State.PRIORITY,
    (State.SCHED, "urgency"): State.PRIORITY,
    (State.DEPEND, "jobspec-update"): State.DEPEND,
    (State.PRIORITY, "jobspec-update"): State.PRIORITY,
    (State.SCHED, "jobspec-update"): State.PRIORITY,
    (State.RUN, "jobspec-update"): State.RUN,
}

_ALIVE = [state for state in State if state & ACTIVE]

_ANYTIME: dict[tuple[State, str], State] = {
    **{(state, "memo"): state for state in _ALIVE},
    **{(state, "exception"): state for state in _ALIVE},
    **{(state, FATAL): State.CLEANUP for state in _ALIVE},
    **{(state, "flux-restart"): State.PRIORITY if state is State.SCHED else state for state in _ALIVE},
}

NEXT: dict[tuple[State, str], State] = {**_FORWARD, **_UPDATES, **_ANYTIME}

EVENTS = frozenset(name for _, name in NEXT if name != FATAL) | {"submit"}


def names_of(mask: int) -> list[str]:
    return [state.name.lower() for state in State if state & mask]


MASKS: dict[str, int] = {
    **{state.name.lower(): int(state) for state in State},
    "pending": int(PENDING),
    "running": int(RUNNING),
    "active": int(ACTIVE),
}
"""Words a user may filter by, virtual states included."""

RESULTS = ("completed", "failed", "canceled", "timeout")
