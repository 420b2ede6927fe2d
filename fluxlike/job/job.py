"""A job in memory, and the one function that changes it: applying an event. Replay is nothing but applying again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxlike.errors import InvalidTransition
from fluxlike.ids import encode_f58
from fluxlike.job.array import TASK_EVENTS, TaskTable
from fluxlike.job.states import FATAL, NEXT, State

Context = dict[str, Any]
Event = tuple[float, str, Context | None]
"""(timestamp, name, context): a row of the eventlog."""

NO_STATUS = -1

LETTERS = {
    "submit": b"A",
    "validate": b"B",
    "depend": b"C",
    "priority": b"D",
    "alloc": b"E",
    "start": b"F",
    "finish": b"G",
    "release": b"H",
    "free": b"I",
    "clean": b"J",
    "exception": b"K",
    "urgency": b"L",
    "memo": b"M",
    "flux-restart": b"N",
    "dependency-add": b"O",
    "dependency-remove": b"P",
    "jobspec-update": b"Q",
    "resource-update": b"R",
    "task-alloc": b"S",
    "task-start": b"T",
    "task-finish": b"U",
    "task-exception": b"V",
}
"""How `Job.trail` writes an event. Stored: a letter never changes its meaning, a new event gets a new one."""

_OTHER = b"~"
_NAMES = {letter[0]: name for name, letter in LETTERS.items()} | {_OTHER[0]: "debug"}


class Job:
    """Slotted, acyclic and small: a million of them fit. Only `apply` and the fields below the line change it."""

    __slots__ = (
        "allocation",
        "annotations",
        "attempt",
        "cc",
        "dependencies",
        "digest",
        "ended",
        "exception",
        "expiration",
        "finished",
        "flags",
        "held",
        "id",
        "launched",
        "priority",
        "retired",
        "spec",
        "started",
        "state",
        "status",
        "t_cleanup",
        "t_depend",
        "t_inactive",
        "t_run",
        "t_submit",
        "tasks",
        "trail",
        "updates",
        "urgency",
        "userid",
    )

    def __init__(self, job_id: int, digest: str, cc: str | None) -> None:
        self.id = job_id
        self.digest = digest
        self.cc = cc
        self.state = State.NEW
        self.trail = b""
        """One letter for each event so far: enough to number the next one and to tell the job's story."""
        self.userid = 0
        self.urgency = 16
        self.priority = -1
        self.flags: tuple[str, ...] = ()
        self.dependencies: tuple[str, ...] = ()
        """Descriptions of what is still waited for."""
        self.exception: tuple[str, int, str] | None = None
        """(type, severity, note) of the first fatal one: the root cause."""
        self.updates: Context | None = None
        """path -> value, of what was changed in its jobspec since it was submitted."""
        self.status = NO_STATUS
        self.started = False
        self.ended: dict[int, int] | None = None
        """rank -> highest wait status there, of ranks whose tasks are through while others' are not."""
        self.finished = False
        self.held = False
        """Resources are allocated and not yet freed."""
        self.attempt = 0
        self.tasks: TaskTable | None = None
        """Of an array job; its own events and those of its tasks are in one log."""
        self.expiration = 0.0
        self.t_submit = self.t_depend = self.t_run = self.t_cleanup = self.t_inactive = 0.0
        # Not from events: where the job stands with the scheduler and the executors, rebuilt by asking after a restart.
        self.spec: Any = None
        self.allocation: Any = None
        self.launched = False
        self.retired = False
        """Inactive, and that is committed: nothing about it changes any more."""
        self.annotations: Context | None = None

    @property
    def seq(self) -> int:
        """Events so far, which is the number of the next one."""
        return len(self.trail)

    def __repr__(self) -> str:
        return f"<job {encode_f58(self.id)} {self.state.name}>"


def check(job: Job, name: str, context: Context | None) -> State:
    """The state after this event. Raises InvalidTransition, with the job's story, if it may not happen."""
    key = FATAL if name == "exception" and (context or {}).get("severity") == 0 else name
    following = NEXT.get((job.state, key))
    if following is None and name.startswith("debug.") and job.state is not State.INACTIVE:
        following = job.state
    if following is None and name == "submit" and not job.trail:
        following = State.NEW
    if following is None:
        raise InvalidTransition(f"{name} is not allowed in {job.state.name}; {story(job)}")
    broken = _broken_rule(job, name, context)
    if broken:
        raise InvalidTransition(f"{name} is not allowed: {broken}; {story(job)}")
    return following


def _broken_rule(job: Job, name: str, context: Context | None) -> str:
    """What the table of states cannot say."""
    if not job.trail and name != "submit":
        return "the first event is submit"
    if name in TASK_EVENTS and job.tasks is None:
        return "it is not an array"
    rule = _RULES.get(name)
    return rule(job, context or {}) if rule is not None else ""


_RULES: dict[str, Callable[[Job, Context], str]] = {
    "dependency-remove": lambda job, context: (
        "" if context.get("description") in job.dependencies else "no such dependency"
    ),
    "depend": lambda job, context: "dependencies remain" if job.dependencies else "",
    "start": lambda job, context: (
        "it has started before" if job.started else "" if job.held else "nothing is allocated"
    ),
    "finish": lambda job, context: (
        "it has finished before" if job.finished else "" if job.held else "nothing is allocated"
    ),
    "release": lambda job, context: "" if job.held else "nothing is allocated",
    "free": lambda job, context: "" if job.held else "nothing is allocated",
    "clean": lambda job, context: "resources are still allocated" if job.held else "",
}


def apply(job: Job, timestamp: float, name: str, context: Context | None = None) -> State:
    """Check and apply one event; returns the state before it. Raises before anything is touched."""
    following = check(job, name, context)
    before = job.state
    effect = _EFFECTS.get(name)
    if effect is not None:
        effect(job, context or {})
    if job.tasks is not None:
        if name in TASK_EVENTS:
            job.tasks.apply(name, timestamp, context or {})
        elif name == "submit":
            job.tasks.submitted(timestamp, context or {})
    job.trail += LETTERS.get(name, _OTHER)
    if following is not before or name == "submit":
        job.state = following
        stamp = _STAMPS.get(following)
        if stamp is not None:
            setattr(job, stamp, timestamp)
    return before


_STAMPS = {
    State.NEW: "t_submit",
    State.DEPEND: "t_depend",
    State.RUN: "t_run",
    State.CLEANUP: "t_cleanup",
    State.INACTIVE: "t_inactive",
}


def _submit(job: Job, context: Context) -> None:
    job.urgency = context["urgency"]
    job.userid = context["userid"]
    job.flags = tuple(context.get("flags") or ())


def _dependency_add(job: Job, context: Context) -> None:
    job.dependencies = (*job.dependencies, context["description"])


def _dependency_remove(job: Job, context: Context) -> None:
    job.dependencies = tuple(d for d in job.dependencies if d != context["description"])


def _priority(job: Job, context: Context) -> None:
    job.priority = context["priority"]


def _urgency(job: Job, context: Context) -> None:
    job.urgency = context["urgency"]


def _jobspec_update(job: Job, context: Context) -> None:
    job.updates = {**(job.updates or {}), **context} or None


def _alloc(job: Job, context: Context) -> None:
    job.held = True
    job.expiration = context.get("expiration", 0.0)


def _resource_update(job: Job, context: Context) -> None:
    job.expiration = context["expiration"]


def _start(job: Job, context: Context) -> None:
    job.started = True


def _memo(job: Job, context: Context) -> None:
    if "ended" in context:
        job.ended = job.ended or {}
        job.ended[context["ended"]["rank"]] = context["ended"]["status"]


def _finish(job: Job, context: Context) -> None:
    job.finished = True
    job.status = context["status"]


def _free(job: Job, context: Context) -> None:
    job.held = False


def _clean(job: Job, context: Context) -> None:
    job.dependencies = ()  # whatever it still waited for, it does so no longer


def _exception(job: Job, context: Context) -> None:
    if context["severity"] == 0 and job.exception is None:
        job.exception = (context["type"], 0, context.get("note", ""))


_EFFECTS = {
    "submit": _submit,
    "dependency-add": _dependency_add,
    "dependency-remove": _dependency_remove,
    "priority": _priority,
    "urgency": _urgency,
    "jobspec-update": _jobspec_update,
    "alloc": _alloc,
    "resource-update": _resource_update,
    "start": _start,
    "memo": _memo,
    "finish": _finish,
    "free": _free,
    "clean": _clean,
    "exception": _exception,
}


def story(job: Job) -> str:
    """The job's events in one line, for an error that someone must understand."""
    names = " ".join(_NAMES[letter] for letter in job.trail)
    return f"job {encode_f58(job.id)} is {job.state.name} after: {names or 'nothing'}"


def result(job: Job) -> str:
    """How an inactive job ended; empty for an active one."""
    if job.state is not State.INACTIVE:
        return ""
    if job.exception is not None:
        kind = job.exception[0]
        if kind == "cancel":
            return "canceled"
        return "timeout" if kind == "timeout" else "failed"
    if job.tasks is not None and job.tasks.failed:  # one that was cancelled has no status
        return "failed"
    return "completed" if job.status == 0 else "failed"


CANCELED_BEFORE_START = -128


def returncode(job: Job) -> int:
    """Exit code of the job, 128+n for signal n; -128 if it ended before any task was started."""
    if job.status == NO_STATUS:
        return CANCELED_BEFORE_START
    signal = job.status & 0x7F
    return 128 + signal if signal else job.status >> 8
