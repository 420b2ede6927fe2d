"""From options to a jobspec."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from fluxlike.ids import encode_f58
from fluxlike.jobspec.parse import parse
from tests.unit.cli.conftest import Command


@pytest.fixture
def spec(fluxlike: Command) -> Any:
    """The jobspec that `submit --dry-run` prints for these arguments."""

    def of(*args: str) -> dict[str, Any]:
        result = fluxlike("submit", "--dry-run", *args)
        assert result.code == 0, result.err
        made: dict[str, Any] = json.loads(result.out)
        parse(made)
        return made

    return of


def system(spec: dict[str, Any]) -> Any:
    return spec["attributes"]["system"]


def test_a_plain_command_is_one_task_here_with_our_environment(spec: Any) -> None:
    made = spec("hostname", "-f")
    assert made["tasks"] == [{"command": ["hostname", "-f"], "slot": "task", "count": {"per_slot": 1}}]
    assert made["resources"] == [{"type": "slot", "count": 1, "label": "task", "with": [{"type": "core", "count": 1}]}]
    assert system(made)["cwd"] == os.getcwd()
    assert system(made)["environment"]["PATH"] == os.environ["PATH"]
    assert system(made)["job"] == {"name": "hostname"}


def test_options_after_the_command_are_the_command_s(spec: Any) -> None:
    assert spec("-n2", "ls", "-n", "--help")["tasks"][0]["command"] == ["ls", "-n", "--help"]


def test_two_dashes_end_the_options(spec: Any) -> None:
    assert spec("-n2", "--", "ls")["tasks"][0]["command"] == ["ls"]


def test_resources(spec: Any) -> None:
    made = spec("-N2", "-n4", "-c3", "-g1", "-x", "app")
    (node,) = made["resources"]
    assert (node["type"], node["count"], node["exclusive"]) == ("node", 2, True)
    assert node["with"][0]["count"] == 2
    assert node["with"][0]["with"] == [{"type": "core", "count": 3}, {"type": "gpu", "count": 1}]


@pytest.mark.parametrize(
    ("text", "seconds"), [("10", 600.0), ("90s", 90.0), ("1.5h", 5400.0), ("inf", 0.0), ("0.5", 30.0)]
)
def test_a_bare_time_limit_is_minutes(spec: Any, text: str, seconds: float) -> None:
    assert system(spec("-t", text, "app"))["duration"] == seconds


def test_files_for_streams(spec: Any) -> None:
    made = spec("--output=a-{{id}}", "--error=b", "--input=c", "-l", "app")
    assert system(made)["shell"]["options"] == {
        "output": {"stdout": {"path": "a-{{id}}", "label": True}, "stderr": {"path": "b", "label": True}},
        "input": {"stdin": "c"},
    }


@pytest.mark.parametrize("word", ["none", "kvs"])
def test_output_may_be_sent_to_the_store_by_name(spec: Any, word: str) -> None:
    assert "shell" not in system(spec(f"--output={word}", "app"))


def test_shell_options_and_attributes_are_set_by_dotted_key(spec: Any) -> None:
    made = spec("-o", "verbose=2", "-o", "output.mode=append", "-o", "pty", "-S", "user.a.b=[1]", "-S", "bank=x", "app")
    assert system(made)["shell"]["options"] == {"verbose": 2, "output": {"mode": "append"}, "pty": 1}
    assert made["attributes"]["user"] == {"a": {"b": [1]}}
    assert system(made)["bank"] == "x"


def test_dependencies_and_begin_time(spec: Any) -> None:
    made = spec(f"--dependency=afterok:{encode_f58(77)}", "--begin-time=4102444800", "app")
    assert system(made)["dependencies"] == [
        {"scheme": "afterok", "value": encode_f58(77)},
        {"scheme": "begin-time", "value": "4102444800.000"},
    ]


@pytest.mark.parametrize("text", ["+1h", "2030-12-31", "2030-12-31 18:00", "18:00", "23:59:59"])
def test_a_begin_time_lies_ahead_however_it_is_written(spec: Any, text: str) -> None:
    (entry,) = system(spec("--begin-time", text, "app"))["dependencies"]
    assert float(entry["value"]) > os.stat("/proc/self").st_ctime


def test_environment_rules_keep_their_order_across_options(spec: Any) -> None:
    made = spec("--env=A=1", "--env-remove=*", "--env=B=2", "--env-remove=B", "--env=C=3", "app")
    assert system(made)["environment"] == {"C": "3"}


def test_cc_in_a_dry_run_shows_each_jobspec(fluxlike: Command) -> None:
    result = fluxlike("submit", "--dry-run", "--cc=1-2", "--output=o-{cc}", "echo", "{cc}")
    first, second = map(json.loads, result.out.splitlines())
    assert first["tasks"][0]["command"] == ["echo", "1"]
    assert second["attributes"]["system"]["shell"]["options"]["output"]["stdout"]["path"] == "o-2"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "COMMAND"),
        (["-n0", "app"], "0"),
        (["-nx", "app"], "'x'"),
        (["-N4", "-n2", "app"], "4 nodes"),
        (["-x", "app"], "exclusive"),
        (["-t", "soon", "app"], "soon"),
        (["--urgency=32", "app"], "32"),
        (["--flags=waitabel", "app"], "Did you mean 'waitable'?"),
        (["--dependency=afterok", "app"], "afterok"),
        (["--dependency=aftrok:f1", "app"], "afterok"),
        (["--begin-time=whenever", "app"], "whenever"),
        (["--cc=3-1", "app"], "3-1"),
        (["--cc=1", "--bcc=1", "app"], "not both"),
        (["-o", "=1", "app"], "KEY"),
        (["-o", "a=1", "-o", "a.b=2", "app"], "cannot hold"),
    ],
)
def test_a_wrong_value_is_a_usage_error_that_quotes_it(fluxlike: Command, args: list[str], words: str) -> None:
    result = fluxlike("submit", *args)
    assert result.code == 2
    assert words in result.err
