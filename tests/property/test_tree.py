"""Routes under any history agree with a slow and obvious twin; health agrees with one that looks at every leaf."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fluxlike.tree.health import Health, Roster
from fluxlike.tree.subtree import Members, Subtree, Uuid
from fluxlike.tree.topology import ancestors_of, children_of, parent_of

RANKS = st.integers(1, 8)
LIVES = st.integers(1, 3)
CARGO = st.dictionaries(RANKS, LIVES, max_size=5)
"""rank -> which life of it; a broker has a new uuid in each."""


def uuid_of(rank: int, life: int) -> Uuid:
    return b"%d.%d" % (rank, life)


def members_of(cargo: dict[int, int]) -> Members:
    return {rank: (uuid_of(rank, life), f"node{rank}", 0) for rank, life in cargo.items()}


class Obvious:
    """One flat list of who said what about whom; the last word counts, and is forgotten with its speaker."""

    def __init__(self) -> None:
        self.children: dict[Uuid, int] = {}
        self.words: list[tuple[Uuid, int, Uuid]] = []

    def route(self, rank: int) -> tuple[Uuid, Uuid] | None:
        """(speaker, life of the rank)."""
        return next(((who, life) for who, what, life in reversed(self.words) if what == rank), None)

    def routes(self) -> dict[int, tuple[Uuid, Uuid]]:
        return {rank: found for rank in range(10) if (found := self.route(rank)) is not None}

    def say(self, who: Uuid, members: Members) -> None:
        for rank, (life, *_) in members.items():
            self.words = [word for word in self.words if word[1] != rank]
            self.words.append((who, rank, life))

    def withdraw(self, who: Uuid, ranks: set[int]) -> set[int]:
        gone = {rank for rank in ranks if (self.route(rank) or (b"", b""))[0] == who}
        self.words = [word for word in self.words if word[0] != who or word[1] not in ranks]
        return gone

    def detach(self, who: Uuid) -> set[int]:
        gone = {rank for rank, (speaker, _) in self.routes().items() if speaker == who}
        self.words = [word for word in self.words if word[0] != who]
        self.children.pop(who, None)
        return gone

    def attach(self, who: Uuid, rank: int, members: Members) -> set[int]:
        before = self.routes()
        for earlier in [uuid for uuid, r in self.children.items() if r == rank]:
            self.detach(earlier)
        self.children[who] = rank
        self.say(who, members)
        now = self.routes()
        return {r for r, (_, life) in before.items() if r not in now or now[r][1] != life}


class SubtreeAgreesWithItsTwin(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.tree = Subtree()
        self.twin = Obvious()
        self.now = 0.0

    def child(self, pick: int) -> Uuid:
        known = sorted(self.twin.children)
        return known[pick % len(known)]

    @rule(rank=RANKS, life=LIVES, cargo=CARGO)
    def attach(self, rank: int, life: int, cargo: dict[int, int]) -> None:
        self.now += 1.0
        who, members = uuid_of(rank, life), members_of(cargo | {rank: life})
        assert self.tree.attach(who, rank, members, self.now) == self.twin.attach(who, rank, members)

    @precondition(lambda self: self.twin.children)
    @rule(pick=st.integers(0), cargo=CARGO)
    def announce(self, pick: int, cargo: dict[int, int]) -> None:
        who, members = self.child(pick), members_of(cargo)
        known = self.twin.routes()
        expected = {rank for rank, (life, *_) in members.items() if rank in known and known[rank][1] != life}
        assert self.tree.announce_replacements(members) == expected
        self.tree.announce(who, members)
        self.twin.say(who, members)

    @precondition(lambda self: self.twin.children)
    @rule(pick=st.integers(0), ranks=st.sets(RANKS))
    def withdraw(self, pick: int, ranks: set[int]) -> None:
        who = self.child(pick)
        assert self.tree.withdraw(who, ranks) == self.twin.withdraw(who, ranks)

    @precondition(lambda self: self.twin.children)
    @rule(pick=st.integers(0))
    def detach(self, pick: int) -> None:
        who = self.child(pick)
        assert self.tree.detach(who) == self.twin.detach(who)

    @rule(rank=RANKS, life=LIVES)
    def detach_whoever_it_is(self, rank: int, life: int) -> None:
        who = uuid_of(rank, life)
        assert self.tree.detach(who) == self.twin.detach(who)

    @invariant()
    def routes_agree(self) -> None:
        expected = self.twin.routes()
        assert {rank: self.tree.next_hop(rank) for rank in range(10)} == {
            rank: expected[rank][0] if rank in expected else None for rank in range(10)
        }

    @invariant()
    def members_agree(self) -> None:
        found = {rank: uuid for rank, (uuid, *_) in self.tree.members().items()}
        assert found == {rank: life for rank, (_, life) in self.twin.routes().items()}

    @invariant()
    def every_route_leads_to_a_child_that_carries_the_rank(self) -> None:
        assert set(self.tree.children) == set(self.twin.children)
        for rank in self.tree.members():
            hop = self.tree.next_hop(rank)
            assert hop is not None
            assert [u for u, child in self.tree.children.items() if rank in child.members] == [hop]


TestSubtree = SubtreeAgreesWithItsTwin.TestCase


@given(RANKS, RANKS, CARGO, CARGO)
def test_subtree_attached_elsewhere_is_never_withdrawn_by_its_old_parents_loss(
    old: int, new: int, before: dict[int, int], moved: dict[int, int]
) -> None:
    """Whatever else the old parent carried: what another child announced since stays reached through that one."""
    if old == new:
        return
    tree = Subtree()
    tree.attach(b"old", old, members_of(before | moved), 0.0)
    tree.attach(b"new", new, members_of(moved), 1.0)
    assert tree.withdraw(b"old", set(moved)) == set()
    assert not tree.detach(b"old") & moved.keys()
    assert all(tree.next_hop(rank) == b"new" for rank in moved)


SIZES = st.integers(1, 30)
FANOUTS = st.integers(0, 5)


@given(FANOUTS, SIZES)
def test_every_rank_is_in_the_tree_exactly_once(fanout: int, size: int) -> None:
    seen, left = [], [0]
    while left:
        rank = left.pop()
        seen.append(rank)
        left.extend(children_of(rank, fanout, size))
    assert sorted(seen) == list(range(size))
    assert all(ancestors_of(rank, fanout)[-1] == 0 for rank in range(1, size))


NEVER, HERE, LOST, LEFT = "never", "here", "lost", "left"


def expected_health(rank: int, fate: list[str], fanout: int) -> Health:
    """By looking at every rank below, however deep, and not at what is behind one that is away."""
    if fate[rank] != HERE:
        return Health.LOST if fate[rank] == LOST else Health.OFFLINE
    seen, left = [], list(children_of(rank, fanout, len(fate)))
    while left:
        child = left.pop()
        seen.append(fate[child])
        if fate[child] == HERE:
            left.extend(children_of(child, fanout, len(fate)))
    if LOST in seen:
        return Health.DEGRADED
    return Health.PARTIAL if set(seen) - {HERE} else Health.FULL


@given(FANOUTS, st.lists(st.sampled_from([NEVER, HERE, HERE, HERE, LOST, LEFT]), min_size=1, max_size=20))
def test_health_is_that_of_everything_below(fanout: int, fate: list[str]) -> None:
    roster = Roster([f"node{rank}" for rank in range(len(fate))], fanout, 0.0)
    for rank, what in enumerate(fate):
        if what != NEVER:
            roster.join(rank, b"%d" % rank, f"node{rank}", parent_of(rank, fanout), 1.0)
        if what in (LOST, LEFT):
            roster.leave(rank, 2.0, cleanly=what == LEFT)
    left = [roster.tree()]
    while left:
        node = left.pop()
        assert node["status"] == expected_health(node["rank"], fate, fanout)
        left.extend(node["children"])
