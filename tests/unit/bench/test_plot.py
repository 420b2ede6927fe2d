from __future__ import annotations

from xml.etree import ElementTree

import pytest
from plot import Bar, across, bars, decades, doubts, svg, systems_table
from report import Row, Unanswered
from rows import system_row
from turns import Turns

FACTS = {"cores": 2, "cpu": "Fast & Co", "kernel": "6.1", "commit": "abc"}
BARS = [Bar("fluxlike, durable", 2100.0), Bar("C loop <one>", 1800.0), Bar("Slurm", 61.0)]


def test_only_systems_that_were_measured_are_drawn_and_the_fastest_comes_first() -> None:
    found = Turns()
    found.rates = {"slow": [10.0, 30.0, 20.0], "fast": [500.0] * 3}
    found.absent = {"absent": "not installed"}
    rows = [system_row(name, found, 100) for name in ("slow", "absent", "fast")]
    rows.append(Row("startup", 3.0, "x", 5.0, detail="", facts={}))
    assert isinstance(rows[1], Unanswered)
    assert bars(rows) == [Bar("fast", 500.0), Bar("slow", 20.0)]


@pytest.mark.parametrize(
    ("rates", "exponents"),
    [((61, 2100), [1, 2, 3, 4]), ((100, 1000), [2, 3]), ((100, 100), [2, 3]), ((0.5, 3), [-1, 0, 1])],
)
def test_the_scale_goes_from_the_power_of_ten_below_to_the_one_above(
    rates: tuple[float, ...], exponents: list[int]
) -> None:
    assert list(decades([Bar("x", rate) for rate in rates])) == exponents


def test_ten_times_as_fast_is_always_as_far_to_the_right() -> None:
    scale = range(1, 5)
    steps = [across(10 * rate, scale) - across(rate, scale) for rate in (10, 30, 999)]
    assert steps == pytest.approx([steps[0]] * 3)


def test_the_drawing_is_xml_and_names_every_system_with_its_rate() -> None:
    root = ElementTree.fromstring(svg(BARS, FACTS))
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in ("fluxlike, durable", "C loop <one>", "Slurm", "2,100", "1,800", "61"):
        assert word in words


def test_a_drawing_of_a_doubtful_run_says_so() -> None:
    found = Turns()
    found.rates = {"x": [100.0]}
    rows = [system_row("x", found, 10, small=True)]
    assert doubts(rows) == ["small"]
    assert "; doubtful: small<" in svg(bars(rows), FACTS, doubts(rows))
    assert "doubtful" not in svg(bars(rows), FACTS)


def test_the_table_of_systems_is_markdown() -> None:
    assert systems_table(BARS).splitlines()[2] == "| fluxlike, durable | 2,100 |"
