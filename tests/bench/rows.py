"""From what was measured to rows of the table."""

from __future__ import annotations

import statistics
from typing import Any

from calibration import REFERENCE, Steady
from ratio import Ratio
from report import Row


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
