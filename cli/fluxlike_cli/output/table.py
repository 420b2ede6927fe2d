"""Tables of plain text that `awk` can read: headers, columns two blanks apart, no blanks at a line's end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

Cell = str | int | float

GAP = "  "


def format_table(headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[str]:
    """A line for the headers (none if all empty) and one per row. A column of numbers is aligned right."""
    body = list(rows)
    numeric = [bool(body) and all(isinstance(row[at], (int, float)) for row in body) for at in range(len(headers))]
    lines = [[_text(cell) for cell in row] for row in body]
    if any(headers):
        lines.insert(0, list(headers))
    widths = [max((len(line[at]) for line in lines), default=0) for at in range(len(headers))]
    return [_line(line, widths, numeric) for line in lines]


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    lines = format_table(headers, rows)
    if lines:
        click.echo("\n".join(lines))


def _text(cell: Cell) -> str:
    # A line break inside a cell (a reason, a note) would break the table and whoever parses it.
    return " ".join(cell.split()) if isinstance(cell, str) else str(cell)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return GAP.join(padded).rstrip()
