"""`{}` and its kin: what stands in a command or an option for the inputs of a job."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from fluxlike.errors import InvalidRequest

# Not within double braces: {{id}} is the executor's.
_TAG = re.compile(r"(?<!\{)\{(?:(?P<count>seq1?)|(?P<index>\d*)(?:\.(?P<form>[^{}\s]+))?)\}(?!\})")

FORMS: dict[str, Callable[[str], str]] = {
    "%": lambda path: os.path.splitext(path)[0],
    "/": os.path.basename,
    "//": os.path.dirname,
    "/%": lambda path: os.path.splitext(os.path.basename(path))[0],
}
"""Without its extension, the name alone, the directory alone, the name without extension."""

Piece = str | Callable[[tuple[str, ...], int], str]


def tags(text: str) -> list[str]:
    """The replacements that a text asks for, as written."""
    return [match[0] for match in _TAG.finditer(text)]


class Replacement:
    """Fills in inputs. `definitions` are the forms that the user added: name -> function of an input."""

    def __init__(self, definitions: Mapping[str, Callable[[str], str]] | None = None) -> None:
        self._forms = {**FORMS, **(definitions or {})}
        self._read: dict[str, list[Piece]] = {}

    def __call__(self, text: str, inputs: tuple[str, ...], number: int) -> str:
        """`number` counts jobs from 0. InvalidRequest for a tag that means nothing."""
        if "{" not in text:
            return text
        pieces = self._read.get(text)
        if pieces is None:
            pieces = self._read[text] = self._pieces(text)
        return "".join([piece if isinstance(piece, str) else piece(inputs, number) for piece in pieces])

    def _pieces(self, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        start = 0
        for match in _TAG.finditer(text):
            pieces += (text[start : match.start()], self._piece(match))
            start = match.end()
        return [piece for piece in (*pieces, text[start:]) if piece != ""]

    def _piece(self, match: re.Match[str]) -> Piece:
        if match["count"]:
            first = 1 if match["count"] == "seq1" else 0
            return lambda inputs, number: str(number + first)
        index = int(match["index"] or 0)
        form = self._form(match["form"], match[0])

        def value(inputs: tuple[str, ...], number: int) -> str:
            if index >= len(inputs):
                raise InvalidRequest(f"{match[0]} is for the list of inputs number {index}, there are {len(inputs)}")
            return inputs[index] if form is None else form(inputs[index])

        return value

    def _form(self, name: str | None, tag: str) -> Callable[[str], str] | None:
        if name is None:
            return None
        if name not in self._forms:
            known = ", ".join(f"{{.{form}}}" for form in self._forms)
            raise InvalidRequest(f"{tag}: there is no form {name!r}; there are {known}, and --define adds more")
        return self._forms[name]
