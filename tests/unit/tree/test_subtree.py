"""What a broker knows of the ranks below it."""

from __future__ import annotations

from fluxlike.tree.subtree import Members, Subtree

A, B, C = b"a", b"b", b"c"


def member(life: bytes, parent: int = 0) -> tuple[bytes, str, int]:
    return life, "host", parent


def members(*rows: tuple[int, bytes]) -> Members:
    return {rank: member(life) for rank, life in rows}


def one_child() -> Subtree:
    tree = Subtree()
    tree.attach(A, 1, members((1, A), (3, b"3")), 10.0)
    return tree


def test_ranks_are_reached_through_the_child_that_carries_them() -> None:
    tree = one_child()
    assert (tree.next_hop(1), tree.next_hop(3), tree.next_hop(2)) == (A, A, None)
    assert set(tree.members()) == {1, 3}


def test_first_hello_replaces_nobody() -> None:
    assert Subtree().attach(A, 1, members((1, A)), 0.0) == set()


def test_repeated_hello_changes_nothing() -> None:
    tree = one_child()
    assert tree.attach(A, 1, members((1, A), (3, b"3")), 11.0) == set()
    assert set(tree.members()) == {1, 3}


def test_announced_ranks_are_reached_through_the_announcer() -> None:
    tree = one_child()
    tree.announce(A, members((4, b"4")))
    assert tree.next_hop(4) == A


def test_withdrawn_ranks_are_not_reached_any_more() -> None:
    tree = one_child()
    assert tree.withdraw(A, {3, 9}) == {3}
    assert tree.next_hop(3) is None
    assert set(tree.members()) == {1}


def test_detached_child_takes_its_ranks_along() -> None:
    tree = one_child()
    assert tree.detach(A) == {1, 3}
    assert (tree.next_hop(1), tree.members(), tree.children) == (None, {}, {})


def test_detaching_an_unknown_child_is_harmless() -> None:
    assert Subtree().detach(A) == set()


def test_subtree_attached_elsewhere_is_not_withdrawn_by_its_old_parents_loss() -> None:
    tree = one_child()
    tree.attach(b"3", 3, members((3, b"3"), (7, b"7")), 12.0)
    assert tree.withdraw(A, {3}) == set()
    assert tree.detach(A) == {1}
    assert (tree.next_hop(3), tree.next_hop(7)) == (b"3", b"3")


def test_new_life_of_a_child_replaces_the_old_one() -> None:
    tree = one_child()
    assert 1 in tree.attach(B, 1, members((1, B)), 12.0)
    assert set(tree.children) == {B}
    assert tree.next_hop(1) == B


def test_ranks_that_hung_on_the_childs_old_life_are_gone_until_they_come_again() -> None:
    tree = one_child()
    assert tree.attach(B, 1, members((1, B)), 12.0) == {1, 3}
    assert tree.next_hop(3) is None
    tree.announce(B, members((3, b"3")))
    assert tree.next_hop(3) == B


def test_ranks_that_a_child_no_longer_carries_are_gone_when_it_says_hello_again() -> None:
    tree = one_child()
    assert tree.attach(A, 1, members((1, A)), 12.0) == {3}
    assert tree.next_hop(3) is None
    assert tree.detach(A) == {1}


def test_new_life_below_a_child_is_told_by_its_announcement() -> None:
    tree = one_child()
    assert tree.announce_replacements(members((3, b"other"))) == {3}
    assert tree.announce_replacements(members((3, b"3"), (9, b"9"))) == set()


def test_child_is_torpid_after_a_while_and_lost_after_a_longer_one() -> None:
    tree = one_child()
    assert tree.silent(15.9, 6.0, 30.0).torpid == []
    assert tree.silent(16.0, 6.0, 30.0).torpid == [A]
    assert tree.children[A].torpid
    assert tree.silent(17.0, 6.0, 30.0).torpid == []  # told once
    assert tree.silent(39.9, 6.0, 30.0).lost == []
    assert tree.silent(40.0, 6.0, 30.0).lost == [A]


def test_sign_of_life_ends_torpor_and_says_so_once() -> None:
    tree = one_child()
    tree.silent(20.0, 6.0, 30.0)
    assert tree.seen(A, 21.0) is True
    assert tree.seen(A, 22.0) is False
    assert tree.silent(27.9, 6.0, 30.0).torpid == []


def test_sign_of_life_of_a_stranger_is_no_error() -> None:
    assert Subtree().seen(C, 1.0) is False


def test_hello_is_a_sign_of_life() -> None:
    tree = one_child()
    tree.silent(20.0, 6.0, 30.0)
    tree.attach(A, 1, members((1, A)), 21.0)
    assert not tree.children[A].torpid
    assert tree.silent(26.9, 6.0, 30.0).torpid == []


def test_child_that_another_says_it_carries_is_displaced_until_it_says_hello_again() -> None:
    tree = one_child()
    tree.attach(C, 3, members((3, C)), 11.0)
    assert tree.displaced() == []
    tree.attach(A, 1, members((1, A), (3, C)), 12.0)
    assert tree.displaced() == [C]
    tree.attach(C, 3, members((3, C)), 13.0)
    assert (tree.displaced(), tree.next_hop(3)) == ([], C)
