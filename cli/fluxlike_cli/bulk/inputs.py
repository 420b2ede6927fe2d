"""Lists of inputs: after `:::` as words, after `::::` as files, combined or side by side. Read as they are needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TextIO

from fluxlike.errors import InvalidRequest

MARKS = (":::", ":::+", "::::", "::::+")
CHUNK = 65536
STDIN = "-"

Inputs = tuple[str, ...]


class Source:
    """One list of inputs. `linked`: its members go with those of the list before, one with one."""

    __slots__ = ("files", "linked", "words")

    def __init__(self, mark: str, words: Sequence[str]) -> None:
        self.files = mark.startswith("::::")
        self.linked = mark.endswith("+")
        self.words = list(words)
        if not self.words:
            raise InvalidRequest(f"nothing follows {mark}")

    def values(self, separator: str) -> Iterator[str]:
        if not self.files:
            yield from self.words
            return
        for path in self.words:
            yield from _read(path, separator)


def split(words: Sequence[str]) -> tuple[list[str], list[Source]]:
    """The command, and the lists after it. Without any, lines are read from standard input."""
    at = next((number for number, word in enumerate(words) if word in MARKS), len(words))
    command, rest = list(words[:at]), words[at:]
    sources: list[Source] = []
    while rest:
        end = next((number for number, word in enumerate(rest) if number and word in MARKS), len(rest))
        sources.append(Source(rest[0], rest[1:end]))
        rest = rest[end:]
    if sources and sources[0].linked:
        raise InvalidRequest("the first list of inputs has none before it to go with; use ::: or ::::")
    if sum(word == STDIN for source in sources if source.files for word in source.words) > 1:
        raise InvalidRequest("standard input (-) can be read once only")
    return command, sources or [Source("::::", [STDIN])]


def combined(sources: Sequence[Source], separator: str) -> Iterator[Inputs]:
    """One tuple for each job. All lists but the first are held in memory; the first may be endless."""
    groups: list[list[Source]] = []
    for source in sources:
        if source.linked:
            groups[-1].append(source)
        else:
            groups.append([source])
    first, *others = (_linked(group, separator) for group in groups)
    if not others:
        yield from first
        return
    held = [list(group) for group in others]
    for beginning in first:
        for rest in product(*held):
            yield sum(rest, beginning)


def _linked(group: Sequence[Source], separator: str) -> Iterator[Inputs]:
    counts = {len(source.words) for source in group if not source.files}
    try:
        if len(counts) > 1:
            raise ValueError
        yield from zip(*(source.values(separator) for source in group), strict=True)
    except ValueError:
        raise InvalidRequest("lists that go side by side (:::+, ::::+) must be of the same length") from None


def _read(path: str, separator: str) -> Iterator[str]:
    try:
        if path == STDIN:
            yield from parts(sys.stdin, separator)
            return
        with open(path, encoding="utf-8") as file:
            yield from parts(file, separator)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path}: not UTF-8 text ({error.reason})") from None


def parts(file: TextIO, separator: str) -> Iterator[str]:
    """The text between separators. One at the end of the file ends the last part and begins no other."""
    if separator == "\n":
        for line in file:
            yield line.removesuffix("\n")
        return
    rest = ""
    read: Callable[[], str] = lambda: file.read(CHUNK)  # noqa: E731  iter() wants a function without arguments
    for text in iter(read, ""):
        *whole, rest = (rest + text).split(separator)
        yield from whole
    # `printf 'a,b\n'` ends with a line break that nobody means.
    rest = rest.removesuffix("\n")
    if rest:
        yield rest


def separator_of(text: str) -> str:
    r"""What `--sep` means: \n, \t and \0 are what they are in C."""
    for escape, letter in (("\\n", "\n"), ("\\t", "\t"), ("\\0", "\0")):
        text = text.replace(escape, letter)
    if not text:
        raise InvalidRequest("a separator cannot be empty")
    return text


def shuffled(inputs: Iterable[Inputs]) -> Iterator[Inputs]:
    """In random order; all are held in memory for it."""
    from random import shuffle

    everything = list(inputs)
    shuffle(everything)
    return iter(everything)
