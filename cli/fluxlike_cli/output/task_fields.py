"""What can be shown of an array's task: the fields of `fluxlike jobs --tasks -o`."""

from __future__ import annotations

from fluxlike.client.results import TaskRecord
from fluxlike.errors import InvalidRequest
from fluxlike_cli.output.job_fields import RESULT_LETTERS, STATE_LETTERS
from fluxlike_cli.output.layout import Field, Layout, Value, listed, parse


def runtime(record: TaskRecord, now: float) -> float:
    """Seconds that it has run, or ran; 0 before it did."""
    return max(0.0, (record.t_inactive or now) - record.t_run) if record.t_run else 0.0


def _returncode(record: TaskRecord, now: float) -> Value:
    return record.returncode if record.result else ""


def _status_abbrev(record: TaskRecord, now: float) -> str:
    return RESULT_LETTERS.get(record.result) or STATE_LETTERS.get(record.state, "?")


FIELDS: dict[str, Field] = {
    "index": Field("INDEX", lambda record, now: record.index, "+:{:>5}"),
    "cc": Field("CC", lambda record, now: record.cc, "+:{:<8}"),
    "state": Field("STATE", lambda record, now: record.state.upper(), "{:<8}"),
    "result": Field("RESULT", lambda record, now: record.result.upper(), "{:<9}"),
    "status": Field("STATUS", lambda record, now: (record.result or record.state).upper(), "{:>9}"),
    "status_abbrev": Field("ST", _status_abbrev, "{:>2}"),
    "returncode": Field("RC", _returncode, "{:>4h}"),
    "waitstatus": Field("WSTATUS", lambda record, now: record.status if record.result else "", "{:>7h}"),
    "runtime": Field("RUNTIME", runtime, "{!F:>8h}"),
    "t_run": Field("T_RUN", lambda record, now: record.t_run, "{!d:%F %T::<19h}"),
    "t_inactive": Field("T_INACTIVE", lambda record, now: record.t_inactive, "{!d:%F %T::<19h}"),
    "ranks": Field("RANKS", lambda record, now: record.ranks, "+:{:<6h}"),
    "nodelist": Field("NODELIST", lambda record, now: record.nodelist, "{}"),
}

DEFAULT = "+:{index:>5} +:{cc:<8} {status_abbrev:>2.2} {returncode:>4h} {runtime!F:>8h} {nodelist}"


def task_field(name: str) -> Field:
    field = FIELDS.get(name)
    if field is None:
        from fluxlike_cli.group import nearest

        raise InvalidRequest(f"unknown field {name!r}.{nearest(name, FIELDS)} Tasks have {', '.join(FIELDS)}.")
    return field


def read_task_format(text: str | None) -> Layout:
    """A layout from its description, or from names of fields with commas between them. Raises InvalidRequest."""
    if text is None or text == "default":
        return parse(DEFAULT, task_field)
    if "{" in text:
        return parse(text, task_field)
    return parse(listed([name.strip() for name in text.split(",") if name.strip()], task_field), task_field)
