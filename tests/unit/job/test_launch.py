"""What of a jobspec travels to the nodes."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import InvalidJobspec
from fluxlike.job.launch import executor_spec
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.parse import parse


def spec(**given: Any) -> dict[str, Any]:
    return executor_spec(parse(from_command(["sleep", "1"], **given)))


def test_plain_command_gets_sensible_values_for_the_rest() -> None:
    assert spec() == {
        "command": ["sleep", "1"],
        "env": {},
        "cwd": "/",
        "stdin": "null",
        "stdout": "",
        "stderr": "",
        "label": False,
        "append": False,
        "name": "sleep",
    }


def test_name_directory_and_environment_are_passed_on() -> None:
    found = spec(name="nap", cwd="/scratch", environment={"A": "1", "B": None})
    assert (found["name"], found["cwd"], found["env"]) == ("nap", "/scratch", {"A": "1"})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"output": {"stdout": {"path": "a.{{id}}"}}}, {"stdout": "a.{{id}}", "stderr": ""}),
        ({"output": {"stderr": {"path": "e", "label": True}}}, {"stderr": "e", "label": True}),
        ({"output": {"stdout": {"path": "kvs"}}}, {"stdout": ""}),
        ({"output": {"mode": "append"}}, {"append": True}),
        ({"input": {"stdin": "pipe"}}, {"stdin": "pipe"}),
        ({"input": {"stdin": "in.txt"}}, {"stdin": "in.txt"}),
        ({"input": None, "output": None}, {"stdin": "null", "stdout": ""}),
        ({"output": {"stdout": None}}, {"stdout": ""}),
    ],
)
def test_shell_options_say_where_streams_go(options: dict[str, Any], expected: dict[str, Any]) -> None:
    found = spec(shell_options=options)
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"output": "job.out"}, "attributes.system.shell.options.output"),
        ({"input": 7}, "attributes.system.shell.options.input"),
        ({"output": {"stdout": "job.out"}}, "attributes.system.shell.options.output.stdout"),
        ({"output": {"stderr": ["job.err"]}}, "attributes.system.shell.options.output.stderr"),
    ],
)
def test_shell_option_of_the_wrong_shape_is_refused_by_its_path(options: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidJobspec) as caught:
        spec(shell_options=options)
    assert caught.value.path == path
