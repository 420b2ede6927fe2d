"""Answers of the job manager as lines of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxlike.idset import mask_text
from fluxlike.protocol.internal import UsageReply
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEventsReply,
    JobInfoReply,
    JobListed,
    JobStatsReply,
    JobsTouched,
    JournalRows,
    QueueState,
    Submitted,
)
from fluxlike.protocol.message import Flag, Message
from scenario_stage.tape import Tape


def shown(message: Message, tape: Tape) -> list[str]:
    """What follows the topic, a line for each thing that was told."""
    if message.error is not None:
        return [f": {': '.join(message.error)}"]
    if message.flags & Flag.END:
        return [": end"]
    body = message.body
    show = _SHOW.get(type(body))
    if show is not None:
        return [f": {line}" for line in show(body, tape)]
    return [f":{tape.pairs(body.to_wire())}" if body.fields else ": ok"]


def record(job: dict[str, Any], tape: Tape) -> str:
    """The part of a job.list record that tells a scenario's story."""
    told = {
        "priority": job["priority"] if job["state"] == "sched" and job["priority"] != 16 else "",
        "on": job["ranks"],
        "reason": job["reason"],
        "dependencies": job["dependencies"] or "",
        "code": job["returncode"] if job["state"] == "inactive" else "",
        "because": job["exception_note"] or job["exception_type"],
    }
    words = " ".join(filter(None, (tape.called(job["id"]), job["state"], job["result"])))
    return words + tape.pairs({key: value for key, value in told.items() if value != ""})


def _submitted(body: Submitted, tape: Tape) -> list[str]:
    return [" ".join(map(tape.called, body.ids))]


def _listed(body: JobListed | JobEnds, tape: Tape) -> list[str]:
    more = [f"more from {tape.plain(body.cursor)}"] if isinstance(body, JobListed) and body.cursor else []
    return [record(job, tape) for job in body.jobs] + more or ["none"]


def _journal(body: JournalRows, tape: Tape) -> list[str]:
    return [f"{tape.called(job)} {number} {name}" for job, number, _, name, _ in body.events] or ["none yet"]


def _touched(body: JobsTouched, tape: Tape) -> list[str]:
    refused = [f"{tape.called(job_id)} refused, {code}: {text}" for job_id, code, text in body.errors]
    return [" ".join(map(tape.called, body.ids)) or "none", *refused]


def _events(body: JobEventsReply, tape: Tape) -> list[str]:
    names = " ".join(name for _, name, _ in body.events)
    return [f"{names or 'none'} next={body.next}{' done' if body.done else ''}"]


def _stats(body: JobStatsReply, tape: Tape) -> list[str]:
    return [tape.pairs({name: count for name, count in body.to_wire().items() if count}).strip() or "none"]


def _usage(body: UsageReply, tape: Tape) -> list[str]:
    return [f"rank{rank} core{mask_text(cores) or ' none'}" for rank, (cores, _) in body.usage.items()]


def _queue(body: QueueState, tape: Tape) -> list[str]:
    """Whether jobs may be submitted is told only when they may not."""
    untold = ("enabled", "disable_reason") if body.enabled else ()
    return [tape.pairs({name: value for name, value in body.to_wire().items() if name not in untold}).strip()]


def _info(body: JobInfoReply, tape: Tape) -> list[str]:
    values = dict(body.values)
    if "eventlog" in values:
        values["eventlog"] = [name for _, name, _ in values["eventlog"]]
    if values.get("R"):
        values["R"] = values["R"]["execution"]["R_lite"]
    return [tape.pairs({key: value}).strip() for key, value in values.items()]


_SHOW: dict[type, Callable[[Any, Tape], list[str]]] = {
    Submitted: _submitted,
    JobListed: _listed,
    JobEnds: _listed,
    JournalRows: _journal,
    JobsTouched: _touched,
    JobEventsReply: _events,
    JobStatsReply: _stats,
    QueueState: _queue,
    UsageReply: _usage,
    JobInfoReply: _info,
}
