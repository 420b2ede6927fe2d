"""Pages of the documentation as tests look at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

Row = list[str]


class Page:
    """One Markdown file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """Without blocks of code."""
        return re.sub(r"^```.*?^```$", "", self.text, flags=re.DOTALL | re.MULTILINE)

    def code(self, language: str = "") -> list[str]:
        """Blocks of code in that language; of any, if none is named."""
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", self.text, flags=re.DOTALL | re.MULTILINE)
        return [code for name, code in blocks if language in ("", name)]

    def quoted(self) -> list[str]:
        """Words in backticks."""
        return re.findall(r"`([^`\n]+)`", self.prose)

    def links(self) -> list[str]:
        return re.findall(r"\]\(([^)\s]+)\)", self.prose)

    def anchors(self) -> set[str]:
        """What `#...` may name: headings, as web pages spell them."""
        titles = re.findall(r"^#+ (.+)$", self.prose, flags=re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

    def tables(self, *header: str) -> list[Row]:
        """Rows of all tables with these headers."""
        found: list[Row] = []
        current: Row | None = None
        for line in self.text.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else None
            if cells is None or current is None:
                current = cells
            elif current == list(header) and set("".join(cells)) - set("-"):
                found.append(cells)
        return found


@pytest.fixture
def page() -> Callable[[str], Page]:
    return lambda path: Page(ROOT / path)
