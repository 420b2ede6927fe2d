"""What the leader knows of one job's tasks. Pure: news in, reports out."""

from __future__ import annotations

from typing import Any

from fluxlike.job.launch import appending, shares_a_file
from fluxlike.protocol.internal import LaunchRow

LOST_STATUS = 9
"""Wait status counted for a rank that never answered again: as if killed."""


class Run:
    """Tasks of one job over its ranks."""

    __slots__ = ("_statuses", "ending", "epochs", "followers", "row", "unfinished", "unstarted")

    def __init__(self, row: LaunchRow) -> None:
        self.row = row
        ranks = {node[0] for node in row.nodes} - row.ended.keys()
        self.unstarted: set[int] = set() if row.started else set(ranks)
        self.unfinished: set[int] = set(ranks)
        self.epochs: dict[int, str] = {}
        """rank -> life of the executor that was told to start; absent after a restart of rank 0."""
        self.ending = 0
        """Signal of the kill sequence once the job is to end; 0 before."""
        self._statuses: list[int] = list(row.ended.values())
        self.followers: list[int] = []
        """Ranks that start only once the first node has emptied the file they all write to."""
        if len(row.nodes) > 1 and shares_a_file(row.spec) and not row.started and not row.ended:
            self.followers = [node[0] for node in row.nodes[1:]]

    @property
    def key(self) -> list[int]:
        return [self.row.id, self.row.attempt]

    @property
    def first(self) -> int:
        return self.row.nodes[0][0]

    def spec_for(self, rank: int) -> tuple[str, dict[str, Any]]:
        """Digest and spec: who comes later appends."""
        row = self.row
        if rank != self.first and len(row.nodes) > 1 and shares_a_file(row.spec):
            return row.digest + "+append", appending(row.spec)
        return row.digest, row.spec

    def start_row(self, rank: int) -> list[Any]:
        """The executor's row for this rank (docs/rfc/003)."""
        row = self.row
        index, (_, first, count, cores, gpus) = next((i, n) for i, n in enumerate(row.nodes) if n[0] == rank)
        return [
            row.id,
            row.attempt,
            self.spec_for(rank)[0],
            row.cc,
            index,
            len(row.nodes),
            first,
            count,
            row.ntasks,
            cores,
            gpus,
        ]

    def started(self, rank: int) -> bool:
        """True when this was the last rank to start."""
        if rank not in self.unstarted:
            return False
        self.unstarted.discard(rank)
        return not self.unstarted

    def finished(self, rank: int, statuses: list[int]) -> bool:
        """True when this was the last rank to finish."""
        if rank not in self.unfinished:
            return False
        self.unfinished.discard(rank)
        self._statuses.extend(statuses)
        return not self.unfinished

    @property
    def status(self) -> int:
        return max(self._statuses, default=0)
