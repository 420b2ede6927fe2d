"""The language in which tables are described: `{name:<10.10+} ?:{queue:<8} {runtime!F:>8h}`.

A layout is literal text and fields in braces. In front of a field, `?:` leaves it out when it is empty in every
row, `+:` makes it as wide as its longest value, `?+:` does both. Inside, after the name: `!` and a conversion, then
`:` and a format as Python has it, which may end with `h` (a hyphen for empty values) and `+` (marks what was cut).
`sort:-key,...` at the beginning orders the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fluxlike.errors import InvalidRequest
from fluxlike_cli.output.convert import CONVERSIONS

Value = str | int | float
T = TypeVar("T")

EMPTY = ("", "0", "-")

_PART = re.compile(r"(?P<mark>\?\+:|\?:|\+:)?\{(?P<name>[^{}!:]*)(?:!(?P<conversion>[^{}:]*))?(?::(?P<spec>[^{}]*))?\}")
_SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>^]))?(?P<zero>0)?(?P<width>\d+)?(?P<number>,?(?:\.(?P<cut>\d+))?[bdeEfFgGnoxX%]?)"
    r"(?P<text>s?)(?P<marks>h\+|\+h|h|\+|)",
)
_SORT = re.compile(r"sort:(\S+)\s?")


class Field:
    """What a column shows: its title, how a row gives its value, and how it looks in a list of names.

    `order` is what rows are sorted by where that is not the value."""

    __slots__ = ("form", "order", "title", "value")

    def __init__(
        self,
        title: str,
        value: Callable[[Any, float], Value],
        form: str = "{}",
        order: Callable[[Any], Any] | None = None,
    ) -> None:
        self.title = title
        self.value = value
        self.form = form
        """A field in braces, without its name."""
        self.order = order


Fields = Callable[[str], Field]
"""The field of that name; InvalidRequest if there is none."""


class Cell:
    """One field of a layout."""

    __slots__ = (
        "align", "before", "conversion", "cut", "drop", "field", "fill", "hyphen", "mark_cut", "number", "strftime",
        "widen", "width",
    )  # fmt: skip

    def __init__(self, before: str, match: re.Match[str], fields: Fields) -> None:
        self.before = before
        mark = match["mark"] or ""
        self.drop = "?" in mark
        self.widen = "+" in mark
        self.field = fields(match["name"].strip())
        self.conversion = match["conversion"] or ""
        if self.conversion and self.conversion not in CONVERSIONS:
            known = ", ".join(f"!{letter}" for letter in CONVERSIONS)
            raise InvalidRequest(f"unknown conversion !{self.conversion} in {match[0]!r}; known are {known}")
        spec = match["spec"] or ""
        self.strftime = ""
        if self.conversion == "d":
            self.strftime, _, spec = spec.partition("::")
        self._read(spec, match[0])

    def _read(self, spec: str, whole: str) -> None:
        found = _SPEC.fullmatch(spec)
        if found is None:
            raise InvalidRequest(f"cannot read {spec!r} in {whole!r}; a format is such as <10, >6h or <10.10+")
        self.align: str = found["align"] or ""
        self.fill: str = found["fill"] or ("0" if found["zero"] else " ")
        self.width = int(found["width"] or 0)
        self.number: str = found["number"]
        self.cut = int(found["cut"]) if found["cut"] else None
        self.hyphen = "h" in found["marks"]
        self.mark_cut = "+" in found["marks"]

    def texts(self, rows: Sequence[Any], now: float) -> list[str]:
        """The column of these rows, not yet padded."""
        values = [self.field.value(row, now) for row in rows]
        if not self.align:
            numbers = bool(values) and not any(isinstance(value, str) for value in values)
            self.align = ">" if numbers and not self.conversion else "<"
        return [self._text(value) for value in values]

    def _text(self, value: Value) -> str:
        if self.conversion:
            text = CONVERSIONS[self.conversion](value, self.strftime)
        elif isinstance(value, str):
            text = " ".join(value.split()) if "\n" in value or "\t" in value else value
        else:
            return _number_text(value, self.number)
        if not text and self.hyphen:
            return "-"
        return text if self.cut is None or self.widen else self._shortened(text, self.cut)

    def _shortened(self, text: str, cut: int) -> str:
        if width_of(text) <= cut:
            return text
        return text[: cut - 1] + "+" if self.mark_cut and cut else text[:cut]

    def padded(self, texts: Sequence[str], title: str | None) -> list[str]:
        """All of one width, the title first if there is one."""
        lines = list(texts) if title is None else [title, *texts]
        if self.widen:
            self.width = max([self.width, *map(width_of, lines)])
        return [_pad(text, self.width, self.align, self.fill if at or title is None else " ")
                for at, text in enumerate(lines)]  # fmt: skip


class Layout:
    """A description that was read: rows in, lines out. Rows may come in parts; the first decides what is left out."""

    def __init__(self, cells: list[Cell], after: str, sort: list[str]) -> None:
        self._cells = cells
        self._after = after
        self._begun = False
        self.sort = sort

    def lines(self, rows: Sequence[Any], now: float, header: bool = True) -> list[str]:
        """`now` is for fields that count time."""
        columns = [cell.texts(rows, now) for cell in self._cells]
        if not self._begun:
            shown = [not cell.drop or _any(texts) for cell, texts in zip(self._cells, columns, strict=True)]
            self._cells, columns = _those(self._cells, shown), _those(columns, shown)
            self._begun = True
        padded = [
            cell.padded(texts, cell.field.title if header else None)
            for cell, texts in zip(self._cells, columns, strict=True)
        ]
        return [self._line(row) for row in zip(*padded, strict=True)]

    def _line(self, texts: Sequence[str]) -> str:
        first, *others = self._cells
        parts = [first.before.lstrip(), texts[0]]
        for cell, text in zip(others, texts[1:], strict=True):
            parts += (cell.before, text)
        return "".join((*parts, self._after)).rstrip()


def _any(texts: Sequence[str]) -> bool:
    return any(text not in EMPTY for text in texts)


def _those(items: list[T], wanted: Sequence[bool]) -> list[T]:
    return [item for item, want in zip(items, wanted, strict=True) if want]


def parse(text: str, fields: Fields) -> Layout:
    """Read a description. InvalidRequest says what is wrong with it."""
    sort: list[str] = []
    order = _SORT.match(text)
    if order is not None:
        sort = sort_keys(order[1], fields)
        text = text[order.end() :]
    cells = []
    start = 0
    for match in _PART.finditer(text):
        cells.append(Cell(_literal(text[start : match.start()]), match, fields))
        start = match.end()
    after = _literal(text[start:])
    if not cells:
        raise InvalidRequest(f"{text!r} names no field; a format is such as '{{id}} {{name:<10}} {{status}}'")
    return Layout(cells, after, sort)


def listed(names: Sequence[str], fields: Fields) -> str:
    """The description that shows these fields, each in its usual form."""
    forms = [(name, fields(name).form) for name in names]
    return " ".join(form.replace("{", "{" + name, 1) for name, form in forms)


def sort_keys(text: str, fields: Fields) -> list[str]:
    keys = [key.strip() for key in text.split(",") if key.strip()]
    for key in keys:
        fields(key.lstrip("-"))
    return keys


def sort_rows(rows: Sequence[Any], keys: Sequence[str], fields: Fields, now: float) -> list[Any]:
    """By the first key, then the next; a key with `-` in front counts down."""
    result = list(rows)
    for key in reversed(keys):
        field = fields(key.lstrip("-"))
        result.sort(key=lambda row, field=field: _rank(field, row, now), reverse=key.startswith("-"))  # type: ignore[misc]  # mypy cannot infer a lambda's default
    return result


def _rank(field: Field, row: Any, now: float) -> tuple[bool, Any]:
    """Comparable with that of any other row: an empty text may stand for a number that is not known yet."""
    value = field.order(row) if field.order is not None else field.value(row, now)
    return (not isinstance(value, str), value)


def _literal(text: str) -> str:
    for brace in "{}":
        if brace in text:
            raise InvalidRequest(f"a lone {brace!r} in {text!r}; a field is such as {{id}} or {{name:<10}}")
    return text


def _number_text(value: float, number: str) -> str:
    if not number:
        return str(value)
    if isinstance(value, int) and number.lstrip(",").startswith(".") and number[-1].isdigit():
        return str(value)  # `.2` cuts a text; a whole number has nothing to cut
    try:
        return format(value, number)
    except ValueError as error:
        raise InvalidRequest(f"{value!r} cannot be shown as {number!r}: {error}") from None


def width_of(text: str) -> int:
    """Columns that a terminal gives to it."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _pad(text: str, width: int, align: str, fill: str) -> str:
    missing = width - width_of(text)
    if missing <= 0:
        return text
    if align == "^":
        return fill * (missing // 2) + text + fill * (missing - missing // 2)
    return fill * missing + text if align == ">" else text + fill * missing
