"""What the socket and the ending ask of whoever runs the jobs: `Executor`, or `NullExecutor` which runs none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from fluxlike_executor.instance import Instance
from fluxlike_executor.pipes import Outbox
from fluxlike_executor.results import ResultLog

MODES = ("spawn", "null")

Triples = list[tuple[int, int, int]]


class Runner(Protocol):
    instance: Instance
    results: ResultLog
    outbox: Outbox

    def introduce(self, instance: Instance) -> None: ...
    def start(self, specs: dict[Any, Any], rows: list[Any]) -> None: ...
    def signal(self, rows: Triples) -> None: ...
    def kill(self, rows: Triples) -> None: ...
    def stdin(self, number: int, attempt: int, tasks: list[int], data: bytes, eof: bool) -> None: ...
    def output_ack(self, rows: Triples) -> None: ...
    def ack(self, sequence: int) -> None: ...
    def drop_transients(self) -> None: ...

    def held(self) -> list[list[Any]]:
        """A row of `welcome` for each job that is not forgotten, transients left out."""

    def kept_output(self) -> Iterable[list[Any]]:
        """Rows of all output that is not acknowledged, transients' left out."""

    def each_pass(self) -> bool:
        """True: there is more to do at once."""

    def reap(self) -> bool:
        """Takes note of every child that has ended. False: there are no children at all."""

    def end_jobs(self, signum: int) -> None: ...
    def draining(self) -> bool: ...
    def close(self) -> None: ...
