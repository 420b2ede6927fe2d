from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.parse import parse

CORE = [{"type": "core", "count": 1}]


def request(**options: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """The resource and the task count of the jobspec for these options."""
    spec = from_command(["hostname"], **options)
    parse(spec)
    return spec["resources"][0], spec["tasks"][0]["count"]


def test_plain_command_is_one_task_on_one_core() -> None:
    assert from_command(["hostname", "-f"]) == {
        "version": 1,
        "resources": [{"type": "slot", "count": 1, "label": "task", "with": CORE}],
        "tasks": [{"command": ["hostname", "-f"], "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": {"duration": 0.0}},
    }


def test_tasks_without_nodes_are_slots_anywhere() -> None:
    slot, count = request(ntasks=5, cores_per_task=2, gpus_per_task=1)
    leaves = [{"type": "core", "count": 2}, {"type": "gpu", "count": 1}]
    assert slot == {"type": "slot", "count": 5, "label": "task", "with": leaves}
    assert count == {"per_slot": 1}


def test_tasks_that_divide_evenly_fill_every_slot() -> None:
    node, count = request(nnodes=2, ntasks=6)
    assert node == {
        "type": "node",
        "count": 2,
        "with": [{"type": "slot", "count": 3, "label": "task", "with": CORE}],
    }
    assert count == {"per_slot": 1}


def test_tasks_that_do_not_divide_evenly_are_a_total_over_rounded_up_slots() -> None:
    node, count = request(nnodes=4, ntasks=5)
    assert node["with"][0]["count"] == 2
    assert count == {"total": 5}


def test_nodes_alone_are_exclusive_with_one_task_each() -> None:
    node, count = request(nnodes=3)
    assert (node["count"], node["exclusive"], node["with"][0]["count"]) == (3, True, 1)
    assert count == {"per_slot": 1}


def test_nodes_with_tasks_are_shared_unless_asked_otherwise() -> None:
    assert "exclusive" not in request(nnodes=2, ntasks=2)[0]
    assert request(nnodes=2, ntasks=2, exclusive=True)[0]["exclusive"] is True


def test_attributes_come_out_where_the_broker_reads_them() -> None:
    document = from_command(
        ["app"],
        duration=90.5,
        name="big",
        cwd="/data",
        environment={"A": "1", "B": None},
        queue="batch",
        dependencies=[{"scheme": "afterok", "value": "f1"}],
        constraints={"properties": ["ssd"]},
        shell_options={"pty": True},
        system={"bank": "physics", "job": {"group": "night"}},
        user={"ticket": 17},
    )
    spec = parse(document)
    assert (spec.duration, spec.name, spec.cwd, spec.queue) == (90.5, "big", "/data", "batch")
    assert spec.environment == {"A": "1", "B": None}
    assert spec.dependencies == [{"scheme": "afterok", "value": "f1"}]
    assert spec.constraints == {"properties": ["ssd"]}
    assert spec.shell_options == {"pty": True}
    assert spec.system["bank"] == "physics"
    assert spec.system["job"] == {"group": "night", "name": "big"}
    assert spec.attributes["user"] == {"ticket": 17}


def test_later_changes_to_the_callers_environment_do_not_reach_the_jobspec() -> None:
    environment: dict[str, str | None] = {"A": "1"}
    spec = from_command(["app"], environment=environment)
    environment["A"] = "2"
    assert spec["attributes"]["system"]["environment"] == {"A": "1"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"nnodes": 4, "ntasks": 2}, "2 tasks cannot fill 4 nodes"),
        ({"exclusive": True}, "say how many nodes"),
        ({"ntasks": 0}, "number of tasks must be 1 or more"),
        ({"nnodes": -1}, "number of nodes must be 0 or more"),
        ({"cores_per_task": 0}, "number of cores per task"),
        ({"gpus_per_task": -1}, "number of gpus per task"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        from_command(["app"], **options)


def test_no_command_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no command"):
        from_command([])


def test_building_loads_neither_the_parser_nor_anything_slow() -> None:
    slow = [
        "dataclasses",
        "inspect",
        "asyncio",
        "uuid",
        "datetime",
        "yaml",
        "json",
        "difflib",
        "fluxlike.jobspec.parse",
    ]
    program = (
        "import sys; from fluxlike.jobspec.build import from_command; from_command(['true'], nnodes=2); "
        f"print([name for name in {slow!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
