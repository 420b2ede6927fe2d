"""Names of job states, of their groups and of results, as filters take them."""

from __future__ import annotations

from fluxlike_cli.options.values import names_among

ACTIVE = ("depend", "priority", "sched", "run", "cleanup", "pending", "running", "active")
RESULTS = ("completed", "failed", "canceled", "timeout")


def states(text: str) -> tuple[str, ...]:
    """States and results of a filter."""
    return names_among((*ACTIVE, "inactive", *RESULTS), text.lower().replace("cancelled", "canceled"))


def active_states(text: str) -> tuple[str, ...]:
    """States of jobs that have not ended."""
    return names_among(ACTIVE, text)
