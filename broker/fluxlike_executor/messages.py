"""The messages a broker sends, taken apart at the door. Afterwards their fields are trusted."""

from __future__ import annotations

import signal
from typing import Any

from fluxlike_executor.wire import ProtocolError


def triples(message: list[Any]) -> list[tuple[int, int, int]]:
    """Body of `output-ack`, `signal` and `kill`: rows of three integers."""
    if len(message) != 2 or not isinstance(message[1], list):
        raise ProtocolError(f"{message[0]}: one list of rows is expected")
    for row in message[1]:
        if not (isinstance(row, list) and len(row) == 3 and all(isinstance(field, int) for field in row)):
            raise ProtocolError(f"{message[0]}: a row is three integers")
    return message[1]


def signals(message: list[Any]) -> list[tuple[int, int, int]]:
    rows = triples(message)
    for row in rows:
        if not 0 <= row[2] < signal.NSIG:
            raise ProtocolError(f"{message[0]}: there is no signal {row[2]}")
    return rows


def start(message: list[Any]) -> tuple[dict[Any, Any], list[Any]]:
    """Specs by digest, and job rows, neither looked into."""
    body = message[1] if len(message) == 2 else None
    if not isinstance(body, dict):
        raise ProtocolError("start: one map is expected")
    specs, jobs = body.get("specs", {}), body.get("jobs")
    if not isinstance(specs, dict) or not isinstance(jobs, list):
        raise ProtocolError("start: specs is a map and jobs a list")
    return specs, jobs


def stdin(message: list[Any]) -> tuple[int, int, list[int], bytes, bool]:
    kinds = (int, int, list, bytes, bool)
    if len(message) != 6 or not all(map(isinstance, message[1:], kinds)):
        raise ProtocolError("stdin: id, attempt, tasks, data and eof are expected")
    job, attempt, tasks, data, eof = message[1:]
    return job, attempt, tasks, data, eof


def number(message: list[Any]) -> int:
    if len(message) != 2 or not isinstance(message[1], int):
        raise ProtocolError(f"{message[0]}: one integer is expected")
    return message[1]
