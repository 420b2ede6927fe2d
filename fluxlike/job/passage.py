"""The usual ways of a job, several events in one step. Each does what `apply` would do one by one, and costs a tenth.

Only for a job that stands where the way begins: the caller asks first. Property tests walk both ways and compare.
"""

from __future__ import annotations

from fluxlike.job.eventlog import line
from fluxlike.job.job import LETTERS, Context, Job
from fluxlike.job.states import State

_ADMITTED = b"".join(LETTERS[name] for name in ("submit", "validate", "depend", "priority"))
_ALLOC, _START = LETTERS["alloc"], LETTERS["start"]
_ENDED = b"".join(LETTERS[name] for name in ("finish", "release", "free", "clean"))


class Admission:
    """What all jobs of one submission have in common on their way from nothing to SCHED."""

    __slots__ = ("_flags", "_priority", "_time", "_urgency", "_userid", "text")

    def __init__(self, timestamp: float, context: Context, priority: int) -> None:
        """`context` is that of the submit event."""
        self._time = timestamp
        self._userid: int = context["userid"]
        self._urgency: int = context["urgency"]
        self._flags = tuple(context["flags"])
        self._priority = priority
        self.text = ",".join(
            (
                line(timestamp, "submit", context),
                line(timestamp, "validate", None),
                line(timestamp, "depend", None),
                line(timestamp, "priority", {"priority": priority}),
            )
        )
        """The first part of the job's log."""

    def admit(self, job: Job) -> None:
        """For a new job that depends on nothing."""
        job.userid, job.urgency, job.flags = self._userid, self._urgency, self._flags
        job.priority = self._priority
        job.t_submit = job.t_depend = self._time
        job.trail = _ADMITTED
        job.state = State.SCHED


def can_be_allocated(job: Job) -> bool:
    return job.state is State.SCHED


def allocate(job: Job, timestamp: float, expiration: float) -> None:
    job.trail += _ALLOC
    job.held = True
    job.expiration = expiration
    job.t_run = timestamp
    job.state = State.RUN


def can_start(job: Job) -> bool:
    return job.state is State.RUN and job.held and not job.started


def start(job: Job) -> None:
    job.trail += _START
    job.started = True


def can_end(job: Job) -> bool:
    return job.state is State.RUN and job.held and not job.finished


def end(job: Job, timestamp: float, now: float, status: int) -> str:
    """From `finish`, which happened at `timestamp`, to INACTIVE, which it is `now`. Returns that part of its log."""
    job.trail += _ENDED
    job.finished = True
    job.status = status
    job.held = False
    job.dependencies = ()
    job.t_cleanup = timestamp
    job.t_inactive = now
    job.state = State.INACTIVE
    return (
        f'[{timestamp!r},"finish",{{"status": {status}}}],[{now!r},"release",{{"ranks": "all", "final": true}}],'
        f'[{now!r},"free",null],[{now!r},"clean",null]'
    )


def same_as(job: Job, other: Job) -> None:
    """For a new job with the very log of another that is in SCHED: the same events lead to the same place."""
    job.userid, job.urgency, job.flags = other.userid, other.urgency, other.flags
    job.priority = other.priority
    job.dependencies, job.updates = other.dependencies, other.updates
    job.exception = other.exception
    job.t_submit, job.t_depend = other.t_submit, other.t_depend
    job.trail = other.trail
    job.state = other.state
