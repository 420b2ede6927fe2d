"""Null mode: every job ends well at once, and nothing is run. For measuring all that surrounds the running."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fluxlike_executor.clock import wall
from fluxlike_executor.instance import Instance
from fluxlike_executor.job import Key, check_row
from fluxlike_executor.pipes import Outbox
from fluxlike_executor.results import ResultLog
from fluxlike_executor.spec import SpecCache


class NullExecutor:
    """Answers as `Executor` does: idempotent by (id, attempt), results kept until acknowledged. A task's pid is 0."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.results = ResultLog()
        self.outbox = Outbox()
        self._specs = SpecCache()
        self._finished: dict[Key, None] = {}
        """Not acknowledged, in order."""

    def introduce(self, instance: Instance) -> None:
        self.instance = instance

    def start(self, specs: dict[Any, Any], rows: list[Any]) -> None:
        self._specs.learn(specs)
        for row in rows:
            check_row(row)
        now = wall()
        for row in rows:
            key = (row[0], row[1])
            if key not in self._finished:
                if row[0] >= 0:
                    self._finished[key] = None
                self._answer(row, now)

    def _answer(self, row: list[Any], now: float) -> None:
        number, attempt, digest = row[:3]
        if self._specs.get(digest) is None:
            error = f"the start message lacks the spec {digest}"
            self.results.finished(number, attempt, now, [126 << 8] * row[7], error)
            return
        nothing = [0] * row[7]
        self.results.started(number, attempt, now, nothing)
        self.results.finished(number, attempt, now, nothing, "")

    def ack(self, sequence: int) -> None:
        for key in self.results.ack(sequence):
            del self._finished[key]

    def held(self) -> list[list[Any]]:
        return [[*key, "finished"] for key in self._finished]

    def kept_output(self) -> Iterable[list[Any]]:
        return ()

    # There is never a task to do these things to.

    def signal(self, rows: list[tuple[int, int, int]]) -> None: ...

    def kill(self, rows: list[tuple[int, int, int]]) -> None: ...

    def stdin(self, number: int, attempt: int, tasks: list[int], data: bytes, eof: bool) -> None: ...

    def output_ack(self, rows: list[tuple[int, int, int]]) -> None: ...

    def drop_transients(self) -> None: ...

    def end_jobs(self, signum: int) -> None: ...

    def each_pass(self) -> bool:
        return False

    def reap(self) -> bool:
        return False

    def draining(self) -> bool:
        return False

    def close(self) -> None: ...
