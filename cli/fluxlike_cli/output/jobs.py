"""The table of jobs: which columns there are, and the rules by which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fluxlike.client.results import JobRecord
from fluxlike.duration import format_duration
from fluxlike.ids import encode, encode_f58
from fluxlike_cli.output.ids import id_text

STATE_LETTERS = {"depend": "D", "priority": "P", "sched": "S", "run": "R", "cleanup": "C", "inactive": "I"}
RESULT_LETTERS = {"completed": "CD", "failed": "F", "canceled": "CA", "timeout": "TO"}


class Column:
    """How one field is shown.

    `drop`: left out of a named format when empty in every row; `widen`: as wide as its longest value;
    `cut`: never wider than `width`, a `+` marks the loss; `hyphen`: `-` for empty."""

    __slots__ = ("cut", "drop", "header", "hyphen", "right", "value", "widen", "width")

    def __init__(
        self,
        header: str,
        value: Callable[[JobRecord, float], str],
        width: int = 0,
        *,
        right: bool = False,
        drop: bool = False,
        widen: bool = False,
        cut: bool = False,
        hyphen: bool = False,
    ) -> None:
        self.header = header
        self.value = value
        self.width = width
        self.right = right
        self.drop = drop
        self.widen = widen
        self.cut = cut
        self.hyphen = hyphen

    def lines(self, texts: Sequence[str]) -> list[str]:
        """The header and these values, padded to one width."""
        cells = [self.header, *map(self._fitted, texts)]
        width = max(self.width, *map(len, cells)) if self.widen else self.width
        return [cell.rjust(width) if self.right else cell.ljust(width) for cell in cells]

    def _fitted(self, text: str) -> str:
        if not text and self.hyphen:
            return "-"
        return text[: self.width - 1] + "+" if self.cut and len(text) > self.width else text


def job_table(records: Sequence[JobRecord], now: float, format: str = "default", header: bool = True) -> list[str]:
    """The lines of the table. `now` is for jobs that still run; `format` has passed `columns`."""
    chosen = columns(format)
    # A field that was asked for by name is shown, empty or not.
    droppable = format in FORMATS
    cells = [[_one_line(column.value(record, now)) for record in records] for column in chosen]
    shown = [
        column.lines(texts)
        for column, texts in zip(chosen, cells, strict=True)
        if not (droppable and column.drop) or any(text not in ("", "0") for text in texts)
    ]
    rows = [" ".join(row).rstrip() for row in zip(*shown, strict=True)]
    return rows if header else rows[1:]


def columns(format: str) -> list[Column]:
    """The columns of a named format, or of a comma list of fields. KeyError names an unknown one."""
    names = FORMATS.get(format) or [name.strip() for name in format.split(",") if name.strip()]
    return [COLUMNS[name] for name in names]


def id_json(job_id: int) -> dict[str, str]:
    """Both as text: a number beyond 2**53 is rounded by JavaScript and jq."""
    return {"id": encode_f58(job_id), "jobid": str(job_id)}


def job_json(record: JobRecord) -> dict[str, Any]:
    return {**record.record, **id_json(record.id)}


def _one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text or "\t" in text else text


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


def contextual_time(record: JobRecord, now: float) -> float:
    """How long it has run; before it runs, how long it may."""
    return runtime(record, now) if record.t_run else record.duration


def contextual_info(record: JobRecord, now: float) -> str:
    """Where it runs or ran; for one that waits, what for."""
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


def _text(name: str) -> Callable[[JobRecord, float], str]:
    return lambda record, now: str(getattr(record, name))


def _number(name: str) -> Callable[[JobRecord, float], str]:
    """Empty for 0: a count that is not known yet."""
    return lambda record, now: str(getattr(record, name) or "")


def _once_ended(name: str) -> Callable[[JobRecord, float], str]:
    return lambda record, now: str(getattr(record, name)) if record.result else ""


def _time(name: str) -> Callable[[JobRecord, float], str]:
    def text(record: JobRecord, now: float) -> str:
        from fluxlike_cli.output.times import local

        at = getattr(record, name, 0.0)
        return local(at) if at else ""

    return text


def _duration(seconds: Callable[[JobRecord, float], float]) -> Callable[[JobRecord, float], str]:
    def text(record: JobRecord, now: float) -> str:
        value = seconds(record, now)
        return format_duration(_rounded(value)) if value else ""

    return text


def _rounded(seconds: float) -> float:
    """Four digits are what a glance takes in, and what eight columns hold."""
    return float(f"{seconds:.4g}") if seconds < 3600 else round(seconds)


def _id(kind: str) -> Callable[[JobRecord, float], str]:
    return lambda record, now: encode(record.id, kind)


COLUMNS: dict[str, Column] = {
    "id": Column("JOBID", lambda record, now: id_text(record.id), 12, right=True),
    "id.f58": Column("JOBID", lambda record, now: id_text(record.id), 12, right=True),
    "id.f58plain": Column("JOBID", _id("f58plain"), 12, right=True),
    "id.dec": Column("JOBID", _id("dec"), 20, right=True),
    "id.hex": Column("JOBID", _id("hex"), 18, right=True),
    "id.dothex": Column("JOBID", _id("dothex"), 19, right=True),
    "userid": Column("UID", _text("userid"), 5, right=True, widen=True),
    "username": Column("USER", lambda record, now: username(record), 8, widen=True),
    "urgency": Column("URG", _text("urgency"), 3, right=True),
    "priority": Column("PRI", _text("priority"), 5, right=True, widen=True),
    "state": Column("STATE", lambda record, now: record.state.upper(), 8),
    "state_single": Column("S", lambda record, now: STATE_LETTERS.get(record.state, "?"), 1),
    "status": Column("STATUS", lambda record, now: status(record), 9, right=True),
    "status_abbrev": Column("ST", lambda record, now: status_abbrev(record), 2, right=True),
    "result": Column("RESULT", lambda record, now: record.result.upper(), 9),
    "name": Column("NAME", _text("name"), 10, cut=True),
    "cc": Column("CC", lambda record, now: record.cc or "", 4, right=True, widen=True),
    "cwd": Column("CWD", _text("cwd"), 24, widen=True),
    "queue": Column("QUEUE", _text("queue"), 8, drop=True, cut=True),
    "ntasks": Column("NTASKS", _text("ntasks"), 6, right=True),
    "ncores": Column("NCORES", _number("ncores"), 6, right=True, hyphen=True),
    "ngpus": Column("NGPUS", _number("ngpus"), 5, right=True, drop=True, hyphen=True),
    "nnodes": Column("NNODES", _number("nnodes"), 6, right=True, hyphen=True),
    "ranks": Column("RANKS", _text("ranks"), 6, widen=True, hyphen=True),
    "nodelist": Column("NODELIST", _text("nodelist"), 8, widen=True),
    "duration": Column("DURATION", _duration(lambda job, now: job.duration), 8, right=True, hyphen=True),
    "runtime": Column("RUNTIME", _duration(runtime), 8, right=True, hyphen=True),
    "t_remaining": Column("T_REMAINING", _duration(remaining), 11, right=True, hyphen=True),
    "expiration": Column("EXPIRATION", _time("expiration"), 19, hyphen=True),
    "t_submit": Column("T_SUBMIT", _time("t_submit"), 19, hyphen=True),
    "t_depend": Column("T_DEPEND", _time("t_depend"), 19, hyphen=True),
    "t_priority": Column("T_PRIORITY", _time("t_priority"), 19, hyphen=True),
    "t_sched": Column("T_SCHED", _time("t_sched"), 19, hyphen=True),
    "t_run": Column("T_RUN", _time("t_run"), 19, hyphen=True),
    "t_cleanup": Column("T_CLEANUP", _time("t_cleanup"), 19, hyphen=True),
    "t_inactive": Column("T_INACTIVE", _time("t_inactive"), 19, hyphen=True),
    "returncode": Column("RC", _once_ended("returncode"), 4, right=True, hyphen=True),
    "waitstatus": Column("WSTATUS", _text("status"), 7, right=True),
    "success": Column("SUCCESS", _once_ended("succeeded"), 7, hyphen=True),
    "exception.type": Column("EXCEPTION-TYPE", _text("exception_type"), 14, hyphen=True),
    "exception.severity": Column("EXCEPTION-SEVERITY", _text("exception_severity"), 18, right=True),
    "exception.note": Column("EXCEPTION-NOTE", _text("exception_note"), 14, widen=True),
    "dependencies": Column("DEPENDENCIES", lambda record, now: ",".join(record.dependencies), 12, widen=True),
    "reason": Column("REASON", _text("reason"), 6, widen=True),
    "inactive_reason": Column("INACTIVE-REASON", lambda record, now: inactive_reason(record), 15, widen=True),
    "attempt": Column("ATTEMPT", _text("attempt"), 7, right=True),
    "contextual_time": Column("TIME", _duration(contextual_time), 8, right=True, hyphen=True),
    "contextual_info": Column("INFO", contextual_info),
}  # fmt: skip

FORMATS: dict[str, Sequence[str]] = {
    "default": (
        "id", "queue", "username", "name", "status_abbrev", "ntasks", "nnodes",
        "contextual_time", "contextual_info",
    ),
    "long": (
        "id", "queue", "username", "name", "status", "ntasks", "nnodes", "t_submit", "t_remaining",
        "contextual_time", "contextual_info",
    ),
    "deps": ("id", "queue", "name", "ntasks", "urgency", "priority", "state", "dependencies"),
    "endreason": ("id", "queue", "username", "name", "status_abbrev", "t_inactive", "inactive_reason"),
}  # fmt: skip


def known(format: str) -> Iterable[str]:
    """What a word of a format may be: fields, and the formats themselves if it is the only word."""
    return (*COLUMNS, *(() if "," in format else FORMATS))
