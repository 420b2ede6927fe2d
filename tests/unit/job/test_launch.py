"""What of a jobspec travels to the nodes."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import InvalidJobspec
from fluxlike.job.launch import appending, executor_spec, shares_a_file
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


@pytest.mark.parametrize(
    ("output", "shared"),
    [
        ({}, False),
        ({"stdout": {"path": "job.out"}}, True),
        ({"stderr": {"path": "job-{{id}}.err"}}, True),
        ({"stdout": {"path": "job.out"}, "mode": "append"}, False),
        ({"stdout": {"path": "job.{{node.id}}.out"}}, False),
        ({"stdout": {"path": "job.{{taskid}}.out"}, "stderr": {"path": "job.err"}}, True),
        ({"stdout": {"path": "{{tmpdir}}/out"}}, False),
    ],
)
def test_nodes_share_a_file_when_its_name_is_the_same_on_all_of_them(output: dict[str, Any], shared: bool) -> None:
    made = spec(shell_options={"output": output})
    assert shares_a_file(made) is shared
    assert not shares_a_file(appending(made))
