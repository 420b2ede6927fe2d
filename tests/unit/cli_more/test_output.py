"""Renderers: tables, JSON, eventlogs, trees and resource shares."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytest

from fluxlike_cli.output.eventlog import EventFormatter
from fluxlike_cli.output.ids import id_text
from fluxlike_cli.output.json import format_json
from fluxlike_cli.output.resources import Node, share
from fluxlike_cli.output.table import format_table, print_table
from fluxlike_cli.output.times import HumanStamps, elapsed, iso, local
from fluxlike_cli.output.tree import find, tree_lines, without_full

JOB = 6731191091817518


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_columns_are_aligned_and_numbers_stand_right() -> None:
    assert format_table(("STATE", "NNODES", "NODELIST"), [("free", 3, "a[0-2]"), ("allocated", 10, "")]) == [
        "STATE      NNODES  NODELIST",
        "free            3  a[0-2]",
        "allocated      10",
    ]


def test_empty_headers_leave_no_line() -> None:
    assert format_table(("", ""), [("a", "b")]) == ["a  b"]
    assert format_table(("A", "B"), []) == ["A  B"]


def test_empty_table_without_headers_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("", ""), [])
    assert capsys.readouterr().out == ""


def test_line_break_in_a_cell_does_not_break_the_table() -> None:
    assert format_table(("REASON", "N"), [("two\nlines", 1)]) == ["REASON     N", "two lines  1"]


def test_bytes_in_json_stay_readable() -> None:
    assert json.loads(format_json({"a": b"x\xff"})) == {"a": "x\\xff"}


def test_id_is_plain_where_the_user_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert id_text(JOB) == "ƒuZZybuNNy"
    monkeypatch.setenv("FLUX_F58_FORCE_ASCII", "1")
    assert id_text(JOB) == "fuZZybuNNy"


def test_id_is_plain_where_the_terminal_lacks_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr(sys, "stdout", Ascii())
    assert id_text(JOB) == "fuZZybuNNy"


def test_times_are_exact_to_the_microsecond() -> None:
    assert iso(1700000000.25) == "2023-11-14T22:13:20.250000Z"
    assert iso(1700000000.9999999) == "2023-11-14T22:13:21.000000Z"
    assert local(1700000000.25) == "2023-11-14 22:13:20"


def test_elapsed_time_has_one_unit_and_one_digit_behind_the_point() -> None:
    assert [elapsed(s) for s in (-1, 0.115, 59.9, 90, 3600, 200_000)] == [
        "0.0s", "0.1s", "59.9s", "1.5m", "1.0h", "2.3d",
    ]  # fmt: skip


def test_human_times_show_steps_within_a_minute() -> None:
    stamp = HumanStamps()
    assert [stamp(t) for t in (1700000000.0, 1700000000.25, 1700000041.0, 1700000040.5)] == [
        "[Nov14 22:13]",
        "[  +0.250000]",
        "[Nov14 22:14]",
        "[Nov14 22:14]",
    ]


@pytest.mark.parametrize(
    ("form", "times", "expected"),
    [
        ("text", "raw", '1700000001.500000 exception type="cancel" severity=0 note=""'),
        ("text", "iso", '2023-11-14T22:13:21.500000Z exception type="cancel" severity=0 note=""'),
        ("text", "offset", '1.500000 exception type="cancel" severity=0 note=""'),
        (
            "json",
            "raw",
            '{"timestamp":1700000001.5,"name":"exception","context":{"type":"cancel","severity":0,"note":""}}',
        ),
    ],
)
def test_event_has_one_line_in_each_format(form: str, times: str, expected: str) -> None:
    formatter = EventFormatter(form, times)
    formatter.line(1700000000.0, "submit", None)
    assert formatter.line(1700000001.5, "exception", {"type": "cancel", "severity": 0, "note": ""}) == expected


def test_event_without_context_is_time_and_name() -> None:
    assert EventFormatter().line(1.0, "clean", None) == "1.000000 clean"
    assert EventFormatter("json").line(1.0, "clean", {}) == '{"timestamp":1.0,"name":"clean"}'


def broker(rank: int, status: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {
        "rank": rank,
        "host": f"h{rank}",
        "status": status,
        "since": 0.0,
        "torpid": False,
        "children": list(children),
    }


TREE = broker(
    0,
    "degraded",
    broker(1, "degraded", broker(3, "full"), broker(4, "lost")),
    broker(2, "full", broker(5, "full")),
)


def label(node: Any) -> str:
    return f"{node['rank']} {node['host']}: {node['status']}"


def test_tree_is_drawn_with_lines() -> None:
    assert list(tree_lines(TREE, label)) == [
        "0 h0: degraded",
        "├─ 1 h1: degraded",
        "│  ├─ 3 h3: full",
        "│  └─ 4 h4: lost",
        "└─ 2 h2: full",
        "   └─ 5 h5: full",
    ]


def test_tree_without_full_parts_keeps_the_way_to_what_is_down() -> None:
    assert list(tree_lines(without_full(TREE), label, ascii_only=True)) == [
        "0 h0: degraded",
        "`- 1 h1: degraded",
        "   `- 4 h4: lost",
    ]


def test_subtree_is_found_by_rank() -> None:
    assert find(TREE, 5) == broker(5, "full")
    assert find(TREE, 9) is None


def node(rank: int, **changes: Any) -> Node:
    row = {
        "rank": rank, "host": f"n{rank}", "up": True, "torpid": False, "drained": False, "reason": "",
        "drained_at": 0.0, "cores": "0-3", "gpus": "", "used_cores": "", "used_gpus": "",
    }  # fmt: skip
    return Node({**row, **changes})


NODES = [
    node(0),
    node(1, used_cores="0-1"),
    node(2, drained=True, used_cores="0-3", gpus="0-1"),
    node(3, up=False),
    node(4, drained=True),
    node(5, torpid=True),
]


def test_every_core_is_free_allocated_or_down_and_counted_once() -> None:
    parts = {state: share(state, NODES) for state in ("free", "allocated", "down")}
    assert {state: (part.nnodes, part.ncores, part.nodelist) for state, part in parts.items()} == {
        "free": (3, 10, "n[0-1,5]"),
        "allocated": (2, 6, "n[1-2]"),
        "down": (3, 8, "n[2-4]"),
    }
    assert sum(part.ncores for part in parts.values()) == share("all", NODES).ncores
    assert share("up", NODES).to_json()["ranks"] == "0-1,5"


def test_state_word_of_a_node_follows_from_what_holds_it_back() -> None:
    assert [n.state for n in NODES] == ["avail", "avail", "draining", "offline", "drained", "torpid"]
