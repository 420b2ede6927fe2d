"""What a job needs next. Asked after every event, and once for every active job after a restart."""

from __future__ import annotations

from enum import Enum, auto

from fluxlike.job.job import Job
from fluxlike.job.states import State


class Action(Enum):
    VALIDATE = auto()
    RESOLVE_DEPENDENCIES = auto()
    """Say `depend` if nothing is waited for."""
    PRIORITIZE = auto()
    REQUEST_RESOURCES = auto()
    START_TASKS = auto()
    """Once the alloc is durable. A repeat is harmless: executors know the job by id and attempt."""
    END_TASKS = auto()
    FREE_RESOURCES = auto()
    CLEAN = auto()
    RETIRE = auto()


def wanted(job: Job) -> Action:
    """One action; doing it leads to the next event. Doing it twice must be harmless to its receiver."""
    match job.state:
        case State.NEW:
            return Action.VALIDATE
        case State.DEPEND:
            return Action.RESOLVE_DEPENDENCIES
        case State.PRIORITY:
            return Action.PRIORITIZE
        case State.SCHED:
            return Action.REQUEST_RESOURCES
        case State.RUN:
            return Action.START_TASKS
        case State.CLEANUP:
            return _wanted_in_cleanup(job)
        case State.INACTIVE:
            return Action.RETIRE


def _wanted_in_cleanup(job: Job) -> Action:
    if job.held and job.launched and not job.finished:
        return Action.END_TASKS
    return Action.FREE_RESOURCES if job.held else Action.CLEAN
