"""Systems by jobs a second, as a table and as a drawing with a logarithmic scale. Only what was measured is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from report import DOUBTS, Row

WIDTH, LEFT, RIGHT = 760, 230, 80
TOP, STEP, BAR = 56, 34, 22
BELOW = 58
FONT = 'font-family="sans-serif" font-size="13"'
OURS, THEIRS = "#1f6fb2", "#b0b7bf"


class Bar(NamedTuple):
    system: str
    rate: float

    @property
    def ours(self) -> bool:
        return self.system.startswith("fluxlike")


def bars(rows: list[Row]) -> list[Bar]:
    """The fastest first. Rates as measured here, not scaled: these are for comparison with each other."""
    found = [Bar(row.facts["system"], row.facts["rate"]) for row in rows if "system" in row.facts]
    return sorted(found, key=lambda bar: -bar.rate)


def systems_table(found: list[Bar]) -> str:
    """Markdown, to be pasted into docs/performance.md beside the drawing."""
    lines = ["| system | jobs/s |", "|---|---|"]
    return "\n".join([*lines, *(f"| {bar.system} | {bar.rate:,.0f} |" for bar in found)])


def decades(found: list[Bar]) -> range:
    """Exponents of the powers of ten from below the slowest to above the fastest."""
    slowest, fastest = min(bar.rate for bar in found), max(bar.rate for bar in found)
    low = math.floor(math.log10(slowest))
    return range(low, max(math.ceil(math.log10(fastest)), low + 1) + 1)


def doubts(rows: list[Row]) -> list[str]:
    """Why the drawing should not be believed too much."""
    return [doubt for doubt in DOUBTS if any(row.facts.get(doubt) for row in rows if "system" in row.facts)]


def svg(found: list[Bar], facts: dict[str, Any], doubts: Sequence[str] = ()) -> str:
    """A doubtful run says so in the drawing itself: it will be looked at without the table."""
    scale = decades(found)
    height = TOP + STEP * len(found) + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {FONT}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">Jobs a second, `true` (logarithmic)</text>',
        *_grid(scale, len(found)),
        *(part for number, bar in enumerate(found) for part in _bar(bar, number, scale)),
        f'<text x="{LEFT}" y="{height - 12}" font-size="11" fill="#666666">{escape(_caption(facts, doubts))}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def across(rate: float, scale: range) -> float:
    """How far to the right a rate is, in pixels from where bars begin."""
    return (math.log10(rate) - scale[0]) / (scale[-1] - scale[0]) * (WIDTH - LEFT - RIGHT)


def _grid(scale: range, count: int) -> list[str]:
    bottom = TOP + STEP * count
    parts = []
    for exponent in scale:
        x = LEFT + across(10.0**exponent, scale)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{bottom}" stroke="#dddddd"/>')
        label = f"{10**exponent:,}" if exponent >= 0 else f"{10.0**exponent:g}"
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#666666">{label}</text>')
    return parts


def _bar(bar: Bar, number: int, scale: range) -> list[str]:
    y, length = TOP + STEP * number, across(bar.rate, scale)
    middle, colour = y + BAR - 6, OURS if bar.ours else THEIRS
    return [
        f'<text x="{LEFT - 10}" y="{middle}" text-anchor="end">{escape(bar.system)}</text>',
        f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
        f'<text x="{LEFT + length + 6:.1f}" y="{middle}">{bar.rate:,.0f}</text>',
    ]


def _caption(facts: dict[str, Any], doubts: Sequence[str]) -> str:
    machine = f"{facts['cores']} cores, {facts['cpu']}, Linux {facts['kernel']}, commit {facts['commit']}"
    return f"{machine}; doubtful: {', '.join(doubts)}" if doubts else machine
