"""A broker's knowledge of what hangs below it: learned from attach messages, forgotten by silence or goodbye."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fluxlike.errors import ProtocolError

Uuid = bytes
Members = dict[int, tuple[Uuid, str, int]]
"""rank -> (uuid of that broker's life, host name, rank of its parent)."""


def members_from(wire: dict[int, Any], size: int) -> Members:
    """What a child announced, checked. Raises ProtocolError."""
    return {rank: _member(rank, row, size) for rank, row in wire.items()}


def _member(rank: int, row: Any, size: int) -> tuple[Uuid, str, int]:
    if type(rank) is not int or not 0 < rank < size:
        raise ProtocolError(f"members: there is no rank {rank!r}")
    if not isinstance(row, list | tuple) or [type(field) for field in row] != [bytes, str, int]:
        raise ProtocolError(f"members: rank {rank} must have uuid, host and parent")
    uuid, host, parent = row
    return uuid, host, parent


@dataclass
class Child:
    rank: int
    seen: float
    torpid: bool = False
    members: Members = field(default_factory=dict)
    """The child itself and everything reached through it."""


@dataclass(frozen=True)
class Silence:
    """What a look at the clock found."""

    torpid: list[Uuid]
    lost: list[Uuid]


class Subtree:
    """Routes downwards. A rank is reached through the child that announced it last."""

    def __init__(self) -> None:
        self.children: dict[Uuid, Child] = {}
        self._via: dict[int, Uuid] = {}

    def attach(self, uuid: Uuid, rank: int, members: Members, now: float) -> set[int]:
        """A child says hello with all it carries. Returns the ranks whose earlier self is thereby gone.

        Among them may be ranks that are not members: what hung on the child before, or on its own earlier life,
        and is not carried any more."""
        gone = self.announce_replacements(members)
        for old in [u for u, child in self.children.items() if child.rank == rank or u == uuid]:
            gone |= self.detach(old) - members.keys()
        self.children[uuid] = Child(rank, now)
        self.announce(uuid, members)
        return gone

    def announce_replacements(self, members: Members) -> set[int]:
        known = self.members()
        return {rank for rank, (uuid, *_) in members.items() if rank in known and known[rank][0] != uuid}

    def announce(self, uuid: Uuid, members: Members) -> None:
        for rank, member in members.items():
            old = self._via.get(rank)
            if old is not None and old != uuid and old in self.children:
                self.children[old].members.pop(rank, None)
            self._via[rank] = uuid
            self.children[uuid].members[rank] = member

    def displaced(self) -> list[Uuid]:
        """Children of our own that another child says it carries: they have moved, or its news is stale."""
        return [uuid for uuid, child in self.children.items() if self._via.get(child.rank) != uuid]

    def withdraw(self, uuid: Uuid, ranks: set[int]) -> set[int]:
        """The child lost these; returns those that really were reached through it."""
        gone = {rank for rank in ranks if self._via.get(rank) == uuid}
        for rank in gone:
            del self._via[rank]
            self.children[uuid].members.pop(rank, None)
        return gone

    def detach(self, uuid: Uuid) -> set[int]:
        """The child is gone; returns the ranks that went with it (not those re-attached elsewhere since)."""
        child = self.children.get(uuid)
        if child is None:
            return set()
        gone = self.withdraw(uuid, set(child.members))
        del self.children[uuid]
        return gone

    def next_hop(self, rank: int) -> Uuid | None:
        return self._via.get(rank)

    def members(self) -> Members:
        return {rank: member for child in self.children.values() for rank, member in child.members.items()}

    def seen(self, uuid: Uuid, now: float) -> bool:
        """Note a sign of life; True if the child was torpid until now. Unknown children are not an error here."""
        child = self.children.get(uuid)
        if child is None:
            return False
        child.seen = now
        was_torpid, child.torpid = child.torpid, False
        return was_torpid

    def silent(self, now: float, torpid_after: float, lost_after: float) -> Silence:
        """Marks the newly torpid; the lost are for the caller to detach."""
        found = Silence([], [])
        for uuid, child in self.children.items():
            quiet = now - child.seen
            if quiet >= lost_after:
                found.lost.append(uuid)
            elif quiet >= torpid_after and not child.torpid:
                child.torpid = True
                found.torpid.append(uuid)
        return found
