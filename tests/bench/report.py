"""Rows of the table, the machine they were measured on, and how both are shown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from typing import Any

import fluxlike

HEAD = ("what", "measured", "budget", "used", "verdict")

DOUBTS = ("noisy", "busy", "small")
"""Facts that make a verdict weak. small: fewer jobs than the budget is about, as with --quick."""


class Row:
    """One question and its answer. `value` and `limit` have the same unit; no limit: for information only."""

    def __init__(
        self,
        what: str,
        value: float,
        unit: str,
        limit: float | None,
        *,
        detail: str,
        facts: dict[str, Any],
        at_least: bool = False,
    ) -> None:
        self.what = what
        self.value = value
        self.unit = unit
        self.limit = limit
        self.detail = detail
        self.facts = facts
        self.at_least = at_least
        """The limit is a floor, as for rates; otherwise a ceiling."""

    @property
    def met(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def verdict(self) -> str:
        if self.met is None:
            return ""
        doubts = [doubt for doubt in DOUBTS if self.facts.get(doubt)]
        word = ("met" if self.met else "MISSED") + ("?" if doubts else "")
        return ", ".join([word, *doubts])

    def cells(self) -> tuple[str, ...]:
        measured = f"{_number(self.value)} {self.unit} ({self.detail})"
        if self.limit is None:
            return (self.what, measured, "", "", "")
        budget = f"{_number(self.limit)} {self.unit}"
        used = self.limit / self.value if self.at_least else self.value / self.limit
        return (self.what, measured, f"at least {budget}" if self.at_least else budget, f"{used:.0%}", self.verdict)

    def to_json(self) -> dict[str, Any]:
        known = {"what": self.what, "value": self.value, "unit": self.unit, "limit": self.limit, "met": self.met}
        return known | {"at_least": self.at_least} | self.facts


class Unanswered(Row):
    """A question that could not be answered here, and why. A budget that was not looked at is not met."""

    def __init__(self, what: str, why: str, *, budget: bool = True) -> None:
        super().__init__(what, float("nan"), "", None, detail=why, facts={"why": why})
        self.budget = budget

    @property
    def met(self) -> bool | None:
        return False if self.budget else None

    @property
    def verdict(self) -> str:
        return "not measured"

    def cells(self) -> tuple[str, ...]:
        return (self.what, self.detail.replace("|", "/"), "", "", self.verdict)

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "value": None, "unit": "", "limit": None, "met": self.met} | self.facts


def _number(value: float) -> str:
    return (
        f"{value:.3f}"
        if value < 1
        else f"{value:.2f}"
        if value < 10
        else f"{value:.1f}"
        if value < 100
        else f"{value:.0f}"
    )


def table(rows: list[Row]) -> str:
    """A Markdown table whose columns also line up on a terminal."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(shown)


def summary(rows: list[Row]) -> str:
    """How many budgets are met, and the names of those that are not."""
    judged = [row for row in rows if row.met is not None]
    lines = [f"budgets met: {sum(row.met is True for row in judged)} of {len(judged)}"]
    lines += [f"{row.verdict}: {row.what}" for row in judged if not row.met]
    return "\n".join(lines)


def document(rows: list[Row], facts: dict[str, Any]) -> str:
    return json.dumps({"machine": facts, "rows": [row.to_json() for row in rows]}, indent=2)


def machine(scratch: str) -> dict[str, Any]:
    return {
        "commit": _commit(),
        "fluxlike": fluxlike.__version__,
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "scratch": f"{scratch} on {_filesystem(scratch)}",
    }


def _commit() -> str:
    """Of the checkout this file lies in; the wheel that is measured should have been built from it."""
    command = ["git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _filesystem(path: str) -> str:
    """The type of the longest mount point above `path`: on tmpfs a sync costs nothing and says nothing."""
    path = os.path.realpath(path)
    best, kind = "", "unknown"
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, point, found, *_ = line.split()
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, found
    return kind
