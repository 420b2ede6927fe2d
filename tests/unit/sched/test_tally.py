from __future__ import annotations

from fluxlike.sched.match import lowest
from fluxlike.sched.tally import Tally, ranks_in


def test_ranks_come_out_ascending_over_word_boundaries() -> None:
    ranks = [0, 1, 63, 64, 65, 127, 128, 200, 5000, 9999]
    assert list(ranks_in(sum(1 << rank for rank in ranks))) == ranks
    assert list(ranks_in(0)) == []


def test_sets_follow_amounts_that_change_after_they_were_asked_for() -> None:
    tally = Tally()
    for rank, amount in ((0, 4), (1, 2), (2, 0)):
        tally.put(rank, amount)
    assert [tally.at_least(level) for level in (1, 2, 3, 4)] == [0b011, 0b011, 0b001, 0b001]
    tally.put(0, 1)
    tally.put(2, 3)
    assert [tally.at_least(level) for level in (1, 2, 3, 4)] == [0b111, 0b110, 0b100, 0b000]


def test_amounts_that_nobody_has_leave_nothing_behind() -> None:
    tally = Tally()
    tally.put(0, 4)
    for amount in range(5, 1000):
        assert tally.at_least(amount) == 0
    assert tally._sets == {}
    tally.put(1, 500)
    assert tally.at_least(499) == 0b10


def test_lowest_bits_are_found_with_and_without_holes() -> None:
    assert lowest(0b1111, 2) == 0b0011
    assert lowest(0b1101, 2) == 0b0101
    assert lowest(0b1000, 1) == 0b1000
    assert lowest(0b1000, 0) == 0
