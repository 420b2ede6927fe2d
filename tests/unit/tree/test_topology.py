"""The k-ary tree that ranks are born into."""

from __future__ import annotations

import pytest

from fluxlike.tree.topology import ancestors_of, children_of, level_of, parent_of

CASES = [(fanout, size) for fanout in (0, 1, 2, 3, 16) for size in (1, 2, 3, 7, 40)]


def test_root_has_no_parent() -> None:
    assert parent_of(0, 2) is None
    assert ancestors_of(0, 2) == []
    assert level_of(0, 2) == 0


def test_binary_tree_of_seven() -> None:
    assert [list(children_of(rank, 2, 7)) for rank in range(7)] == [[1, 2], [3, 4], [5, 6], [], [], [], []]
    assert ancestors_of(6, 2) == [2, 0]


def test_fanout_of_zero_is_flat() -> None:
    assert list(children_of(0, 0, 4)) == [1, 2, 3]
    assert list(children_of(1, 0, 4)) == []
    assert ancestors_of(3, 0) == [0]


def test_fanout_of_one_is_a_chain() -> None:
    assert ancestors_of(3, 1) == [2, 1, 0]


@pytest.mark.parametrize(("fanout", "size"), CASES)
def test_every_rank_but_the_root_is_a_child_of_its_parent_alone(fanout: int, size: int) -> None:
    born = [(parent, child) for parent in range(size) for child in children_of(parent, fanout, size)]
    assert sorted(child for _, child in born) == list(range(1, size))
    assert all(parent_of(child, fanout) == parent for parent, child in born)


@pytest.mark.parametrize(("fanout", "size"), CASES)
def test_line_of_ancestors_ends_at_the_root_and_goes_up_one_level_at_a_time(fanout: int, size: int) -> None:
    for rank in range(1, size):
        line = [rank, *ancestors_of(rank, fanout)]
        assert line[-1] == 0
        assert [level_of(r, fanout) for r in line] == list(range(len(line) - 1, -1, -1))


@pytest.mark.parametrize(("fanout", "size"), CASES)
def test_no_rank_has_more_children_than_the_fanout(fanout: int, size: int) -> None:
    assert fanout == 0 or all(len(children_of(rank, fanout, size)) <= fanout for rank in range(size))
