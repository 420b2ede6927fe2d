"""What every peer is: a name, and a way to start it that gives a way to measure it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

Rate = Callable[[int], float]
"""Runs so many `true`, waits for all of them, and gives how many a second that were."""


class Unavailable(Exception):
    """Something that is needed cannot be had or does not work here; the text says why, and what to do about it."""


class Surroundings(NamedTuple):
    """Where a peer may write, and the environment its programs get."""

    scratch: str
    env: dict[str, str]


class Peer(NamedTuple):
    name: str
    start: Callable[[Surroundings], AbstractContextManager[Rate]]
    """May raise Unavailable, and so may the Rate."""
    share: float = 1.0
    """Of the jobs of a round: the slow ones would take minutes."""
