from __future__ import annotations

from typing import Any

import pytest

from fluxlike_executor import messages
from fluxlike_executor.job import Job, check_row
from fluxlike_executor.spec import KEPT, Spec, SpecCache
from fluxlike_executor.wire import ProtocolError

ROW: list[Any] = [1, 1, "d", None, 0, 1, 0, 1, 1, "0", ""]


@pytest.mark.parametrize(
    "row",
    [7, [], ROW[:-1], [*ROW, 0], ["1", *ROW[1:]], [*ROW[:7], 0, *ROW[8:]], [*ROW[:9], 3, ""], [*ROW[:6], -1, *ROW[7:]]],
    ids=["number", "empty", "short", "long", "id-as-text", "no-tasks", "cores-as-number", "negative-rank"],
)
def test_a_malformed_job_row_is_refused(row: Any) -> None:
    with pytest.raises(ProtocolError):
        check_row(row)


def test_a_cc_value_may_be_a_number_and_empty_means_none() -> None:
    for cc, expected in ((3, "3"), ("x", "x"), ("", None), (None, None)):
        check_row([*ROW[:3], cc, *ROW[4:]])
        assert Job([*ROW[:3], cc, *ROW[4:]], None).cc == expected


@pytest.mark.parametrize(
    "message",
    [
        ["kill"],
        ["kill", 3],
        ["kill", [[1, 2]]],
        ["kill", [[1, 2, "9"]]],
        ["kill", [[1, 2, 999]]],
        ["kill", [[1, 2, -9]]],
    ],
)
def test_malformed_signals_are_refused(message: list[Any]) -> None:
    with pytest.raises(ProtocolError):
        messages.signals(message)


@pytest.mark.parametrize(
    "message", [["stdin"], ["stdin", 1, 1, [], "text", True], ["stdin", 1, 1, 0, b"", True], ["stdin", 1, 1, [], b""]]
)
def test_malformed_input_is_refused(message: list[Any]) -> None:
    with pytest.raises(ProtocolError):
        messages.stdin(message)


@pytest.mark.parametrize("message", [["start"], ["start", []], ["start", {}], ["start", {"jobs": [], "specs": []}]])
def test_a_malformed_start_is_refused(message: list[Any]) -> None:
    with pytest.raises(ProtocolError):
        messages.start(message)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "command"),
        ({"command": "true"}, "command"),
        ({"command": [1]}, "command"),
        ({"command": ["true"], "env": {"A": 1}}, "env"),
        ({"command": ["true"], "cwd": 3}, "cwd"),
        ({"command": ["true"], "label": "yes"}, "label"),
    ],
)
def test_a_malformed_spec_is_refused_by_the_name_of_the_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ProtocolError, match=named):
        Spec(fields)


def test_stderr_follows_stdout_into_its_file_unless_it_has_its_own() -> None:
    command = ["true"]
    assert Spec({"command": command, "stdout": "out"}).stderr == "out"
    assert Spec({"command": command, "stdout": "out", "stderr": "err"}).stderr == "err"
    assert Spec({"command": command, "stderr": "err"}).stdout == ""


def test_the_oldest_specs_are_forgotten_but_never_those_of_the_message() -> None:
    cache = SpecCache()
    cache.learn({"old": {"command": ["true"]}})
    cache.learn({str(n): {"command": ["true"]} for n in range(KEPT + 10)})
    assert cache.get("old") is None
    assert all(cache.get(str(n)) is not None for n in range(KEPT + 10))


def test_a_digest_that_comes_with_another_spec_gets_that_one() -> None:
    cache = SpecCache()
    cache.learn({"d": {"command": ["true"]}})
    first = cache.get("d")
    cache.learn({"d": {"command": ["true"]}})
    assert cache.get("d") is first
    cache.learn({"d": {"command": ["false"]}})
    second = cache.get("d")
    assert second is not None
    assert second.command == [b"false"]
