"""Things that wait for a commit together."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from fluxlike_broker.modules.job_manager.board import Gathered
from fluxlike_broker.store.batch import Batch


class Thing:
    pass


def run(callbacks: list[Callable[[], None]]) -> None:
    while callbacks:
        callbacks.pop(0)()


def test_things_of_a_batch_are_handled_together() -> None:
    handled: list[list[int]] = []
    gathered: Gathered[int] = Gathered(handled.append)
    first, second = Batch(), Batch()
    for batch, number in ((first, 1), (first, 2), (second, 3)):
        gathered.add(batch, number)
    run(first.callbacks)
    run(second.callbacks)
    assert handled == [[1, 2], [3]]


def test_nothing_is_kept_after_its_commit() -> None:
    gathered: Gathered[Thing] = Gathered(lambda things: None)
    batch, thing = Batch(), Thing()
    left = weakref.ref(thing)
    gathered.add(batch, thing)
    del thing
    run(batch.callbacks)
    assert left() is None
