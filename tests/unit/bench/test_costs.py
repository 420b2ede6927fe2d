from __future__ import annotations

import os

import pytest
from calibration import CORE, REFERENCE, Piece, Steady
from flat_cost import flat_row
from million_pending import accepting_row
from processor import cpu_seconds, stat_ticks
from queued_latency import crowd_row
from rows import rate_row


@pytest.fixture(autouse=True)
def a_steady_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CORE, "fastest", REFERENCE)


def steady(*values: float, slowness: float = 1.0) -> Steady:
    loop = REFERENCE * slowness
    return Steady([Piece(list(values), loop, loop)], 1)


def test_ticks_are_found_behind_a_name_with_parentheses_and_spaces() -> None:
    assert stat_ticks("7 (a) b (c) S 1 7 7 0 -1 4194560 5 0 0 0 31 11 0 0 20 0 1 0 9 1 1") == 42


def test_processor_time_of_a_process_grows_while_it_works() -> None:
    before = cpu_seconds(os.getpid())
    sum(range(2_000_000))
    assert cpu_seconds(os.getpid()) > before


def test_flat_is_the_dearest_point_in_units_of_the_cheapest() -> None:
    row = flat_row({1_000: steady(100e-6), 10_000: steady(80e-6), 100_000: steady(120e-6)}, small=False)
    assert row.value == pytest.approx(1.5)
    assert row.verdict == "MISSED"
    assert row.detail == "100 us at 1,000, 80 us at 10,000, 120 us at 100,000"


def test_cost_on_a_slower_core_is_scaled_before_it_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    row = flat_row({1_000: steady(100e-6), 10_000: steady(120e-6, slowness=1.2)}, small=False)
    assert row.value == pytest.approx(1.0)


def test_a_rate_on_a_slower_core_is_scaled_up() -> None:
    row = rate_row("submit", steady(1 / 20_000, slowness=1.2), 22_000.0)
    assert row.value == pytest.approx(24_000)
    assert row.facts["rate"] == pytest.approx(20_000)
    assert row.met


def test_accepting_is_judged_by_the_slowest_in_a_hundred() -> None:
    row = accepting_row(steady(*[0.001] * 990, *[0.080] * 10), 1_000_000)
    assert row.value == pytest.approx(80.0)
    assert row.verdict == "MISSED"


def test_a_crowd_is_judged_by_the_median_of_the_rounds() -> None:
    row = crowd_row([(2.0, 3.0), (2.0, 9.0), (4.0, 6.0)], 100_000)
    assert row.value == pytest.approx(1.5)
    assert row.verdict == "met"
