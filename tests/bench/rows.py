"""From what was measured to rows of the table. Those with `facts["system"]` are also in the comparison of systems."""

from __future__ import annotations

import statistics
from typing import Any

from calibration import REFERENCE, Steady
from ratio import Ratio
from report import Row, Unanswered
from turns import Turns


def ratio_row(what: str, ratio: Ratio, limit: float) -> Row:
    wall = statistics.median(ratio.candidate.wall) * 1e3
    base = statistics.median(ratio.baseline.wall) * 1e3
    return Row(
        what,
        ratio.median,
        "x",
        limit,
        detail=f"min {ratio.least:.1f}x, cpu {ratio.cpu:.1f}x, {wall:.0f} / {base:.1f} ms",
        facts={
            "least": ratio.least,
            "cpu": ratio.cpu,
            "wall_ms": wall,
            "baseline_ms": base,
            "cpu_ms": statistics.median(ratio.candidate.cpu) * 1e3,
            "rounds": len(ratio.candidate.wall),
        },
    )


def latency_row(what: str, found: Steady, limit: float, waits: float = 0.0) -> Row:
    """`limit` in milliseconds on the reference core; `waits` more that no core makes faster, such as the disk's."""
    values = sorted(found.values)
    p50, p99 = statistics.median(values) * 1e3, values[int(len(values) * 0.99)] * 1e3
    detail = f"here {p50:.3f}, min {values[0] * 1e3:.3f}, p99 {p99:.3f}; core {found.slowness:.2f}x slower"
    if waits:
        detail += f"; disk {waits:.3f}"
    facts: dict[str, Any] = {
        "p50_ms": p50,
        "p99_ms": p99,
        "min_ms": values[0] * 1e3,
        "waits_ms": waits,
        "repetitions": len(values),
        "pieces": [
            {"p50_ms": statistics.median(piece.values) * 1e3, "slowness": piece.slowness} for piece in found.pieces
        ],
        "pieces_tried": found.tried,
        "slowness": found.slowness,
        "reference_loop_ms": REFERENCE * 1e3,
        "noisy": found.noisy,
        "busy": found.busy,
    }
    return Row(what, found.scaled(waits / 1e3) * 1e3, "ms", limit + waits, detail=detail, facts=facts)


def rate_row(what: str, found: Steady, limit: float, system: str = "", small: bool = False) -> Row:
    """Jobs a second on the reference core, from the seconds that each job took; at least `limit` of them."""
    here = 1 / statistics.median(found.values)
    facts: dict[str, Any] = {
        "rate": here,
        "rates": [1 / value for value in found.values],
        "slowness": found.slowness,
        "noisy": found.noisy,
        "busy": found.busy,
        "small": small,
    }
    detail = f"here {here:.0f}; core {found.slowness:.2f}x slower"
    facts |= {"system": system} if system else {}
    return Row(what, 1 / found.scaled(), "jobs/s", limit, detail=detail, facts=facts, at_least=True)


def seconds_row(what: str, found: Steady, limit: float, small: bool = False) -> Row:
    """`limit` in seconds on the reference core."""
    here = statistics.median(found.values)
    facts = {"here": here, "slowness": found.slowness, "noisy": found.noisy, "busy": found.busy, "small": small}
    return Row(
        what, found.scaled(), "s", limit, detail=f"here {here:.3f}; core {found.slowness:.2f}x slower", facts=facts
    )


def share_row(what: str, found: Turns, ours: str, theirs: str, least: float, small: bool = False) -> Row:
    """Our rate in units of theirs, round by round; at least `least`."""
    for system in (ours, theirs):
        if system in found.absent:
            return Unanswered(what, f"{system}: {found.absent[system]}")
    pairs = list(zip(found.rates[ours], found.rates[theirs], strict=True))
    shares = [first / second for first, second in pairs]
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(
        what,
        statistics.median(shares),
        "x",
        least,
        detail=f"{first:.0f} / {second:.0f} jobs/s, {min(shares):.2f} to {max(shares):.2f}",
        facts={"shares": shares, "rounds": len(shares), "busy": found.busy, "small": small},
        at_least=True,
    )


def system_row(system: str, found: Turns, jobs: int, small: bool = False) -> Row:
    """What one system did with so many jobs a round, for comparison; judged by nobody."""
    if system in found.absent:
        return Unanswered(system, found.absent[system], budget=False)
    rates = found.rates[system]
    rate = statistics.median(rates)
    facts = {"system": system, "rate": rate, "rates": rates, "busy": found.busy, "small": small}
    detail = f"{jobs} x true, {min(rates):.0f} to {max(rates):.0f} in {len(rates)} rounds"
    return Row(system, rate, "jobs/s", None, detail=detail, facts=facts)
