"""The root's roster and the health of each subtree, from the leaves up."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.tree.health import Health, Member, Roster, health


def roster(size: int = 7, online: tuple[int, ...] = ()) -> Roster:
    made = Roster([f"node{rank}" for rank in range(size)], 2, 5.0)
    for rank in online:
        made.join(rank, b"u%d" % rank, f"node{rank}", None if rank == 0 else (rank - 1) // 2, 10.0)
    return made


def statuses(node: dict[str, Any]) -> dict[int, str]:
    found = {node["rank"]: node["status"]}
    for child in node["children"]:
        found |= statuses(child)
    return found


FULL, PARTIAL, DEGRADED, LOST, OFFLINE = Health


@pytest.mark.parametrize(
    ("online", "ever", "children", "expected"),
    [
        (True, True, [], FULL),
        (True, True, [FULL, FULL], FULL),
        (True, True, [FULL, OFFLINE], PARTIAL),
        (True, True, [PARTIAL], PARTIAL),
        (True, True, [OFFLINE, LOST], DEGRADED),
        (True, True, [PARTIAL, DEGRADED], DEGRADED),
        (False, True, [], LOST),
        (False, True, [FULL], LOST),
        (False, False, [], OFFLINE),
    ],
)
def test_health_follows_from_the_member_and_its_children(
    online: bool, ever: bool, children: list[Health], expected: Health
) -> None:
    assert health(Member(1, "node1", online=online, ever=ever), children) is expected


def test_nobody_has_come_yet() -> None:
    assert set(statuses(roster().tree()).values()) == {"offline"}


def test_all_are_there() -> None:
    assert set(statuses(roster(online=tuple(range(7))).tree()).values()) == {"full"}


def test_missing_leaf_makes_its_line_of_ancestors_partial() -> None:
    found = statuses(roster(online=(0, 1, 2, 3, 5, 6)).tree())
    assert found == {0: "partial", 1: "partial", 2: "full", 3: "full", 4: "offline", 5: "full", 6: "full"}


def test_lost_leaf_degrades_its_line_of_ancestors() -> None:
    members = roster(online=tuple(range(7)))
    assert members.leave(4, 20.0, cleanly=False)
    found = statuses(members.tree())
    assert (found[4], found[1], found[0], found[2]) == ("lost", "degraded", "degraded", "full")


def test_rank_that_left_cleanly_is_offline_not_lost() -> None:
    members = roster(online=tuple(range(7)))
    members.leave(4, 20.0, cleanly=True)
    found = statuses(members.tree())
    assert (found[4], found[1], found[0]) == ("offline", "partial", "partial")


def test_rank_that_hangs_on_its_grandparent_is_shown_there() -> None:
    members = roster(online=tuple(range(7)))
    members.leave(1, 20.0, cleanly=False)
    members.join(3, b"u3", "node3", 0, 21.0)
    root = members.tree()
    assert [child["rank"] for child in root["children"]] == [1, 2, 3]
    assert [child["rank"] for child in root["children"][0]["children"]] == [4]


def test_joining_is_news_once_per_life() -> None:
    members = roster()
    assert members.join(1, b"first", "node1", 0, 10.0) is True
    assert members.join(1, b"first", "node1", 0, 11.0) is False
    assert members.join(1, b"second", "node1", 0, 12.0) is True
    assert members[1].since == 12.0


def test_life_that_was_given_up_is_known_when_it_is_back() -> None:
    members = roster()
    assert members.given_up(1, b"first") is False
    members.join(1, b"first", "node1", 0, 10.0)
    assert members.given_up(1, b"first") is False
    members.leave(1, 20.0, cleanly=False)
    assert (members.given_up(1, b"first"), members.given_up(1, b"second")) == (True, False)


def test_leaving_is_news_only_for_those_who_were_there() -> None:
    members = roster(online=(0, 1))
    assert members.leave(2, 20.0, cleanly=False) is False
    assert members.leave(1, 20.0, cleanly=False) is True
    assert members.leave(1, 21.0, cleanly=False) is False
    assert members[1].since == 20.0


def test_rank_that_returns_or_leaves_is_not_torpid() -> None:
    members = roster(online=(0, 1))
    members[1].torpid = True
    members.leave(1, 20.0, cleanly=False)
    assert members[1].torpid is False
    members[1].torpid = True
    members.join(1, b"u1", "node1", 0, 21.0)
    assert members[1].torpid is False


def test_roster_knows_who_belongs_and_who_is_online() -> None:
    members = roster(online=(0, 3))
    assert members.online() == [0, 3]
    assert (3 in members, 7 in members, len(members)) == (True, False, 7)


def test_tree_tells_host_and_since_of_each_rank() -> None:
    members = roster(2, online=(0,))
    assert members.tree() == {
        "rank": 0,
        "host": "node0",
        "status": "partial",
        "since": 10.0,
        "torpid": False,
        "children": [{"rank": 1, "host": "node1", "status": "offline", "since": 5.0, "torpid": False, "children": []}],
    }
