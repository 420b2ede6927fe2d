"""What can be shown of a job: the fields of `fluxlike jobs -o`, and the rules by which they get their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxlike.client.results import JobRecord
from fluxlike.duration import format_duration
from fluxlike.errors import InvalidRequest
from fluxlike.ids import encode
from fluxlike_cli.output.ids import id_text
from fluxlike_cli.output.layout import Field, Value

STATE_LETTERS = {"depend": "D", "priority": "P", "sched": "S", "run": "R", "cleanup": "C", "inactive": "I"}
RESULT_LETTERS = {"completed": "CD", "failed": "F", "canceled": "CA", "timeout": "TO"}
RESULT_SINGLE = {"completed": "D", "failed": "F", "canceled": "X", "timeout": "T"}
EMOJI = {
    "depend": "🔗", "priority": "🎫", "sched": "⏳", "run": "🏃", "cleanup": "🧹", "inactive": "🏁",
    "completed": "✅", "failed": "❌", "canceled": "🚫", "timeout": "⏰",
}  # fmt: skip


def runtime(record: JobRecord, now: float) -> float:
    """Seconds that it has run, or ran; 0 before it did."""
    if not record.t_run:
        return 0.0
    return max(0.0, (record.t_cleanup or record.t_inactive or now) - record.t_run)


def remaining(record: JobRecord, now: float) -> float:
    """Seconds until its time is up; 0 when it has no limit or does not run."""
    return max(0.0, record.expiration - now) if record.state == "run" and record.expiration else 0.0


def status(record: JobRecord) -> str:
    """The result of a job that has ended, the state of any other."""
    return (record.result or record.state).upper()


def status_abbrev(record: JobRecord) -> str:
    return RESULT_LETTERS.get(record.result) or STATE_LETTERS.get(record.state, "?")


def status_single(record: JobRecord) -> str:
    return RESULT_SINGLE.get(record.result) or STATE_LETTERS.get(record.state, "?")


def contextual_time(record: JobRecord, now: float) -> float:
    """How long it has run; before it runs, how long it may."""
    return runtime(record, now) if record.t_run else record.duration


def contextual_info(record: JobRecord, now: float) -> str:
    """Where it runs or ran; for one that waits, what for; of an array, how many tasks are where."""
    if record.record.get("array"):
        return array_info(record.tasks, ended=record.state == "inactive")
    if record.state == "priority":
        return "priority-wait"
    if record.state == "depend":
        return "depends:" + ",".join(record.dependencies)
    return _pending_info(record, now) if record.state == "sched" else record.nodelist


def _pending_info(record: JobRecord, now: float) -> str:
    estimate = (record.annotations.get("sched") or {}).get("t_estimate")
    if estimate:
        return f"eta:{format_duration(round(estimate - now)) if estimate - now >= 1 else 'now'}"
    if record.urgency == 0:
        return "held"
    return "priority-hold" if record.priority == 0 else record.reason


def inactive_reason(record: JobRecord) -> str:
    if record.state != "inactive":
        return ""
    if record.result == "canceled":
        return f"Canceled: {record.exception_note}" if record.exception_note else "Canceled"
    if record.result == "timeout":
        return "Timeout"
    if record.exception_severity == 0:
        return f"Exception: {record.exception_type}: {record.exception_note}".rstrip(": ")
    if record.returncode > 128:
        return f"Signal {record.returncode - 128}"
    return f"Exit {record.returncode}"


_names: dict[int, str] = {}


def username(record: JobRecord) -> str:
    uid = record.userid
    if uid not in _names:
        import pwd

        try:
            _names[uid] = pwd.getpwuid(uid).pw_name
        except KeyError:
            _names[uid] = str(uid)
    return _names[uid]


def array_info(tasks: dict[str, int], ended: bool) -> str:
    """`3 running, 90 completed, 7 failed`: how many tasks of an array are where. At its end nobody waits any more."""
    if ended and "pending" in tasks:
        tasks = {**tasks, "canceled": tasks.get("canceled", 0) + tasks["pending"], "pending": 0}
    order = ("pending", "running", *RESULT_LETTERS)
    names = sorted(tasks, key=lambda name: order.index(name) if name in order else len(order))
    return ", ".join(f"{tasks[name]} {name}" for name in names if tasks[name])


def _text(name: str) -> Callable[[JobRecord, float], Value]:
    return lambda record, now: getattr(record, name)


def _number(name: str) -> Callable[[JobRecord, float], Value]:
    """Empty for 0: a count that is not known yet."""
    return lambda record, now: getattr(record, name) or ""


def _once_ended(name: str) -> Callable[[JobRecord, float], Value]:
    return lambda record, now: getattr(record, name) if record.result else ""


def _time(name: str) -> Callable[[JobRecord, float], Value]:
    return lambda record, now: record.record.get(name, 0.0)


def _listed(name: str) -> Callable[[JobRecord, float], Value]:
    return lambda record, now: ",".join(getattr(record, name))


def _id(kind: str, form: str) -> Field:
    return Field("JOBID", lambda record, now: encode(record.id, kind), form, lambda record: record.id)


def _f58() -> Field:
    return Field("JOBID", lambda record, now: id_text(record.id), "{:>12}", lambda record: record.id)


def _moment(name: str) -> Field:
    return Field(name.upper(), _time(name), "{!d:%F %T::<19h}")


def _exception(record: JobRecord, now: float) -> Value:
    return "True" if record.exception_severity >= 0 else "False"


FIELDS: dict[str, Field] = {
    "id": _f58(),
    "id.f58": _f58(),
    "id.f58plain": _id("f58plain", "{:>12}"),
    "id.dec": _id("dec", "{:>20}"),
    "id.hex": _id("hex", "{:>18}"),
    "id.dothex": _id("dothex", "{:>19}"),
    "userid": Field("UID", _text("userid"), "+:{:>5}"),
    "username": Field("USER", lambda record, now: username(record), "+:{:<8}"),
    "urgency": Field("URG", _text("urgency"), "{:>3}"),
    "priority": Field("PRI", _text("priority"), "+:{:>5}"),
    "state": Field("STATE", lambda record, now: record.state.upper(), "{:<8}"),
    "state_single": Field("S", lambda record, now: STATE_LETTERS.get(record.state, "?"), "{:<1}"),
    "state_emoji": Field("STATE", lambda record, now: EMOJI.get(record.state, "?"), "{:>5}"),
    "status": Field("STATUS", lambda record, now: status(record), "{:>9}"),
    "status_abbrev": Field("ST", lambda record, now: status_abbrev(record), "{:>2}"),
    "status_single": Field("S", lambda record, now: status_single(record), "{:<1}"),
    "status_emoji": Field("STATUS", lambda record, now: EMOJI.get(record.result or record.state, "?"), "{:>6}"),
    "result": Field("RESULT", lambda record, now: record.result.upper(), "{:<9}"),
    "result_abbrev": Field("RS", lambda record, now: RESULT_LETTERS.get(record.result, ""), "{:>2h}"),
    "result_single": Field("R", lambda record, now: RESULT_SINGLE.get(record.result, ""), "{:<1h}"),
    "result_emoji": Field("RESULT", lambda record, now: EMOJI.get(record.result, ""), "{:>6h}"),
    "name": Field("NAME", _text("name"), "{:<10.10+}"),
    "cc": Field("CC", lambda record, now: record.cc or "", "+:{:>4}"),
    "array": Field("ARRAY", lambda record, now: record.record.get("array") or "", "{:>5h}"),
    "cwd": Field("CWD", _text("cwd"), "+:{:<24}"),
    "queue": Field("QUEUE", _text("queue"), "{:<8.8+}"),
    "ntasks": Field("NTASKS", _text("ntasks"), "{:>6}"),
    "ncores": Field("NCORES", _number("ncores"), "{:>6h}"),
    "ngpus": Field("NGPUS", _number("ngpus"), "{:>5h}"),
    "nnodes": Field("NNODES", _number("nnodes"), "{:>6h}"),
    "ranks": Field("RANKS", _text("ranks"), "+:{:<6h}"),
    "nodelist": Field("NODELIST", _text("nodelist"), "+:{:<8}"),
    "duration": Field("DURATION", _text("duration"), "{!F:>8h}"),
    "runtime": Field("RUNTIME", lambda record, now: runtime(record, now), "{!F:>8h}"),
    "t_remaining": Field("T_REMAINING", lambda record, now: remaining(record, now), "{!F:>11h}"),
    "expiration": _moment("expiration"),
    "t_submit": _moment("t_submit"),
    "t_depend": _moment("t_depend"),
    "t_run": _moment("t_run"),
    "t_cleanup": _moment("t_cleanup"),
    "t_inactive": _moment("t_inactive"),
    "returncode": Field("RC", _once_ended("returncode"), "{:>4h}"),
    "waitstatus": Field("WSTATUS", _once_ended("status"), "{:>7h}"),
    "success": Field("SUCCESS", lambda record, now: str(record.succeeded) if record.result else "", "{:<7h}"),
    "exception.occurred": Field("EXCEPTION-OCCURRED", _exception, "{:<18}"),
    "exception.type": Field("EXCEPTION-TYPE", _text("exception_type"), "{:<14h}"),
    "exception.severity": Field(
        "EXCEPTION-SEVERITY",
        lambda record, now: record.exception_severity if record.exception_severity >= 0 else "",
        "{:>18h}",
    ),
    "exception.note": Field("EXCEPTION-NOTE", _text("exception_note"), "+:{:<14}"),
    "dependencies": Field("DEPENDENCIES", _listed("dependencies"), "+:{:<12}"),
    "reason": Field("REASON", _text("reason"), "+:{:<6}"),
    "inactive_reason": Field("INACTIVE-REASON", lambda record, now: inactive_reason(record), "+:{:<15}"),
    "attempt": Field("ATTEMPT", _text("attempt"), "{:>7}"),
    "contextual_time": Field("TIME", lambda record, now: contextual_time(record, now), "{!F:>8h}"),
    "contextual_info": Field("INFO", lambda record, now: contextual_info(record, now), "{}"),
}

OPEN = {
    "annotations.": "annotations",
    "sched.": "annotations.sched",
    "user.": "annotations.user",
    "tasks.": "tasks",
}
"""Beginnings of names whose ends are up to the instance or its users, and where in the record these are found."""


def job_field(name: str) -> Field:
    """Also `annotations.KEY`, `sched.KEY`, `user.KEY` and, for arrays, `tasks.STATE`. InvalidRequest if unknown."""
    field = FIELDS.get(name)
    if field is not None:
        return field
    for beginning, inside in OPEN.items():
        if name.startswith(beginning) and len(name) > len(beginning):
            return _open_field(name, f"{inside}.{name[len(beginning) :]}")
    from fluxlike_cli.group import nearest

    raise InvalidRequest(f"unknown field {name!r}.{nearest(name, FIELDS)} `-o help` lists all.")


def _open_field(name: str, path: str) -> Field:
    return Field(name.upper(), lambda record, now: _dig(record.record, path), "+:{:<8h}")


def _dig(tree: Any, path: str) -> Value:
    """The value at a dotted path, empty if there is none; a map or list as JSON."""
    for key in path.split("."):
        tree = tree.get(key) if isinstance(tree, dict) else None
    if tree is None:
        return ""
    if isinstance(tree, (str, int, float)):
        return tree
    from fluxlike_cli.output.json import format_json

    return format_json(tree, compact=True)
