"""The root's list of members and the health of each subtree, computed bottom-up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fluxlike.tree.topology import parent_of


class Health(StrEnum):
    FULL = "full"
    PARTIAL = "partial"
    """Some rank below never came."""
    DEGRADED = "degraded"
    """Some rank below was there and is lost."""
    LOST = "lost"
    OFFLINE = "offline"


@dataclass
class Member:
    rank: int
    host: str
    uuid: bytes = b""
    parent: int | None = None
    online: bool = False
    ever: bool = False
    torpid: bool = False
    since: float = 0.0


class Roster:
    """Every rank of the instance as rank 0 knows it."""

    def __init__(self, hosts: list[str], fanout: int, now: float) -> None:
        self._members = {
            rank: Member(rank, host, parent=parent_of(rank, fanout), since=now) for rank, host in enumerate(hosts)
        }

    def __getitem__(self, rank: int) -> Member:
        return self._members[rank]

    def __contains__(self, rank: int) -> bool:
        return rank in self._members

    def __len__(self) -> int:
        return len(self._members)

    def join(self, rank: int, uuid: bytes, host: str, parent: int | None, now: float) -> bool:
        """True if this is news: the rank was not online, or is another life of it."""
        member = self._members[rank]
        member.parent = parent
        if member.online and member.uuid == uuid:
            return False
        member.uuid, member.host, member.since = uuid, host, now
        member.online = member.ever = True
        member.torpid = False
        return True

    def given_up(self, rank: int, uuid: bytes) -> bool:
        """Whether this very life of the rank was here before and was taken for lost."""
        member = self._members[rank]
        return not member.online and member.uuid == uuid

    def leave(self, rank: int, now: float, *, cleanly: bool) -> bool:
        member = self._members[rank]
        if not member.online:
            return False
        member.online = member.torpid = False
        member.ever = not cleanly
        member.since = now
        return True

    def online(self) -> list[int]:
        return [member.rank for member in self._members.values() if member.online]

    def tree(self) -> dict[str, Any]:
        """Nested maps for `overlay status`, root first."""
        below: dict[int, list[int]] = {}
        for member in self._members.values():
            if member.parent is not None:
                below.setdefault(member.parent, []).append(member.rank)
        return self._node(0, below)

    def _node(self, rank: int, below: dict[int, list[int]]) -> dict[str, Any]:
        member = self._members[rank]
        children = [self._node(child, below) for child in sorted(below.get(rank, ()))]
        return {
            "rank": rank,
            "host": member.host,
            "status": str(health(member, [Health(child["status"]) for child in children])),
            "since": member.since,
            "torpid": member.torpid,
            "children": children,
        }


def health(member: Member, children: list[Health]) -> Health:
    if not member.online:
        return Health.LOST if member.ever else Health.OFFLINE
    if any(child in (Health.LOST, Health.DEGRADED) for child in children):
        return Health.DEGRADED
    if any(child in (Health.OFFLINE, Health.PARTIAL) for child in children):
        return Health.PARTIAL
    return Health.FULL
