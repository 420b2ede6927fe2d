"""When is a dependency on another job met, and when never any more?"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from fluxlike.job.job import Job, result
from fluxlike.job.states import State


class Verdict(Enum):
    WAIT = auto()
    MET = auto()
    NEVER = auto()


def verdict(scheme: str, target: Job) -> Verdict:
    if scheme == "afterstart":
        if target.started:
            return Verdict.MET
        return Verdict.NEVER if target.state is State.INACTIVE else Verdict.WAIT
    if target.state is not State.INACTIVE:
        return Verdict.WAIT
    return Verdict.MET if _ENDED_AS_WANTED[scheme](target) else Verdict.NEVER


_ENDED_AS_WANTED: dict[str, Callable[[Job], bool]] = {
    "afterany": lambda job: True,
    "afterok": lambda job: result(job) == "completed",
    "afternotok": lambda job: result(job) != "completed",
    "afterexcept": lambda job: job.exception is not None,
}

SCHEMES = frozenset(_ENDED_AS_WANTED) | {"afterstart"}
