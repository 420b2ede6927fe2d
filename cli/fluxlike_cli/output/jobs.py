"""Jobs as lines of a table, in a named format or one of the user's own, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluxlike.client.results import JobRecord
from fluxlike.errors import InvalidRequest
from fluxlike.ids import encode_f58
from fluxlike_cli.output.job_fields import job_field
from fluxlike_cli.output.layout import Layout, listed, parse, sort_rows

FORMATS = {
    "default": (
        "What waits, what runs, and why",
        "{id.f58:>12} ?:{queue:<8.8+} +:{username:<8} {name:<10.10+} {status_abbrev:>2.2} {ntasks:>6} {nnodes:>6h} "
        "{contextual_time!F:>8h} {contextual_info}",
    ),
    "cute": (
        "The default, with pictures for states",
        "{id.f58:>12} ?:{queue:<8.8+} +:{username:<8} {name:<10.10+} {status_emoji:>6} {ntasks:>6} {nnodes:>6h} "
        "{contextual_time!F:>8h} {contextual_info}",
    ),
    "long": (
        "With the time of submission, and what is left of the time limit",
        "{id.f58:>12} ?:{queue:<8.8+} +:{username:<8} {name:<10.10+} {status:>9.9} {ntasks:>6} {nnodes:>6h} "
        "{t_submit!d:%b%d %R::<12} {t_remaining!F:>11h} {contextual_time!F:>8h} {contextual_info}",
    ),
    "deps": (
        "What jobs wait for",
        "{id.f58:>12} ?:{queue:<8.8+} {name:<10.10+} {ntasks:>6} {urgency:>3} +:{priority:>5} {state:<8} "
        "{dependencies}",
    ),
    "endreason": (
        "How jobs ended",
        "{id.f58:>12} ?:{queue:<8.8+} +:{username:<8} {name:<10.10+} {status_abbrev:>2.2} "
        "{t_inactive!d:%b%d %R::<12h} {inactive_reason}",
    ),
}
"""name -> (what it is for, description)."""


def read_format(text: str) -> Layout:
    """A layout from its description, from the name of a format, or from names of fields with commas between them.

    InvalidRequest says what is wrong with it."""
    return parse(described(text), job_field)


def described(text: str) -> str:
    if "{" in text:
        return text
    if text in FORMATS:
        return FORMATS[text][1]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InvalidRequest("names no field")
    try:
        return listed(names, job_field)
    except InvalidRequest:
        if len(names) > 1:
            raise
    return _of_the_user(names[0])


def _of_the_user(name: str) -> str:
    from fluxlike_cli.group import nearest
    from fluxlike_cli.output.job_fields import FIELDS
    from fluxlike_cli.output.user_formats import path, user_formats

    own = user_formats()
    if name in own:
        return own[name][1]
    hint = nearest(name, (*FORMATS, *own, *FIELDS))
    raise InvalidRequest(f"{name!r} is no format, no field and not in {path()}.{hint} `-o help` lists all.")


def formats_help() -> list[str]:
    """All formats and fields, for people."""
    from fluxlike_cli.output.job_fields import FIELDS, OPEN
    from fluxlike_cli.output.user_formats import path, user_formats

    lines = []
    for title, formats in (("Formats:", FORMATS), (f"Formats in {path()}:", user_formats())):
        if formats:
            lines.append(title)
        for name, (purpose, description) in formats.items():
            lines += [f"  {name:<12} {purpose}", f"  {'':12} {description}"]
    lines.append("Fields:")
    lines += [f"  {name:<20} {field.title}" for name, field in FIELDS.items()]
    return [*lines, *(f"  {beginning}KEY" for beginning in OPEN)]


def job_table(
    records: Sequence[JobRecord], now: float, layout: Layout, header: bool = True, sort: Sequence[str] = ()
) -> list[str]:
    """The lines of the table. `now` is for jobs that still run; `sort` goes before the layout's own."""
    keys = sort or layout.sort
    rows = sort_rows(records, keys, job_field, now) if keys else records
    return layout.lines(rows, now, header)


def id_json(job_id: int) -> dict[str, str]:
    """Both as text: a number beyond 2**53 is rounded by JavaScript and jq."""
    return {"id": encode_f58(job_id), "jobid": str(job_id)}


def job_json(record: JobRecord) -> dict[str, Any]:
    return {**record.record, **id_json(record.id)}
