from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from calibration import CORE
from peers.peer import Peer, Rate, Surroundings, Unavailable
from report import Unanswered
from rows import share_row
from turns import FEWEST, in_turns

WHERE = Surroundings("/nowhere", {})


@pytest.fixture(autouse=True)
def a_steady_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORE, "fastest", 0.05)
    monkeypatch.setattr(CORE, "look", lambda: 0.05)


class Fake:
    """A peer that notes what is done to it, and fails at the call it is told to."""

    def __init__(self, name: str, tape: list[str], rate: float = 100.0, fails_at: int = -1, share: float = 1.0) -> None:
        self.peer = Peer(name, self.started, share)
        self._tape, self._rate, self._fails_at = tape, rate, fails_at
        self._calls = 0

    @contextmanager
    def started(self, where: Surroundings) -> Iterator[Rate]:
        if self._fails_at == 0:
            raise Unavailable("not installed")
        try:
            yield self.run
        finally:
            self._tape.append(f"{self.peer.name} stopped")

    def run(self, count: int) -> float:
        self._calls += 1
        if self._calls == self._fails_at:
            raise Unavailable("it died")
        self._tape.append(f"{self.peer.name} {count}")
        return self._rate * self._calls


def test_systems_take_turns_after_a_tenth_to_warm_up() -> None:
    tape: list[str] = []
    found = in_turns([Fake("a", tape).peer, Fake("b", tape).peer], WHERE, 1000, 2)
    assert tape == ["a 100", "b 100", "a 1000", "b 1000", "a 1000", "b 1000", "b stopped", "a stopped"]
    assert found.rates == {"a": [200.0, 300.0], "b": [200.0, 300.0]}


def test_a_slow_system_gets_its_share_of_the_jobs_but_never_too_few() -> None:
    tape: list[str] = []
    in_turns([Fake("slow", tape, share=0.05).peer], WHERE, 1000, 1)
    assert tape == [f"slow {FEWEST}", "slow 50", "slow stopped"]


def test_a_system_that_cannot_be_started_is_absent_with_its_reason_and_the_others_go_on() -> None:
    tape: list[str] = []
    found = in_turns([Fake("a", tape, fails_at=0).peer, Fake("b", tape).peer], WHERE, 1000, 1)
    assert found.absent == {"a": "not installed"}
    assert list(found.rates) == ["b"]


def test_a_system_that_fails_in_a_later_round_has_no_rate_and_is_stopped() -> None:
    tape: list[str] = []
    found = in_turns([Fake("a", tape, fails_at=3).peer, Fake("b", tape).peer], WHERE, 1000, 3)
    assert found.absent == {"a": "it died"}
    assert len(found.rates["b"]) == 3
    assert tape[-2:] == ["b stopped", "a stopped"]


def test_a_system_that_fails_while_it_warms_up_is_stopped() -> None:
    tape: list[str] = []
    found = in_turns([Fake("a", tape, fails_at=1).peer], WHERE, 1000, 3)
    assert found.absent == {"a": "it died"}
    assert tape == ["a stopped"]


def test_a_share_is_the_median_of_the_rounds_own_shares() -> None:
    tape: list[str] = []
    found = in_turns([Fake("a", tape, 300.0).peer, Fake("b", tape, 100.0).peer], WHERE, 1000, 3)
    row = share_row("a to b", found, "a", "b", 2.5)
    assert row.value == pytest.approx(3.0)
    assert row.met
    assert row.verdict == "met"


def test_a_share_of_an_absent_system_is_unanswered() -> None:
    tape: list[str] = []
    found = in_turns([Fake("a", tape).peer, Fake("b", tape, fails_at=0).peer], WHERE, 1000, 1)
    row = share_row("a to b", found, "a", "b", 2.5)
    assert isinstance(row, Unanswered)
    assert row.detail == "b: not installed"


def test_a_share_measured_beside_a_neighbour_is_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORE, "look", lambda: 0.08)
    tape: list[str] = []
    found = in_turns([Fake("a", tape).peer, Fake("b", tape).peer], WHERE, 1000, 1)
    assert share_row("a to b", found, "a", "b", 0.5).verdict == "met?, busy"
