"""Filters that the instance does not know: by queue, and by where a job runs or ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fluxlike.client.results import JobRecord

Test = Callable[["JobRecord"], bool]


def keeps(queue: str, include: str | None) -> Test | None:
    """The test that a job has to pass; None if all do."""
    tests: list[Test] = []
    if queue:
        tests.append(lambda record: record.queue == queue)
    if include:
        tests.append(_on(include))
    return (lambda record: all(test(record) for test in tests)) if tests else None


def _on(text: str) -> Test:
    """Whether a job has one of these ranks, if they are numbers, or else of these hosts."""
    from fluxlike.errors import InvalidRequest
    from fluxlike.hostlist import Hostlist
    from fluxlike.idset import Idset

    try:
        if text.strip("[]")[:1].isdecimal():
            ranks = Idset.parse(text)
            return lambda record: bool(record.ranks) and not ranks.isdisjoint(Idset.parse(record.ranks))
        hosts = set(Hostlist.parse(text))
    except InvalidRequest as error:
        raise click.BadParameter(str(error), param_hint="--include") from None
    return lambda record: bool(record.nodelist) and not hosts.isdisjoint(Hostlist.parse(record.nodelist))
