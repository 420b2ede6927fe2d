"""Jobspecs from what a command line says. Imports next to nothing: every `run` and `submit` waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fluxlike.errors import InvalidRequest

SLOT = "task"
"""The label of the only slot."""


def from_command(
    command: Sequence[str],
    *,
    ntasks: int | None = None,
    nnodes: int = 0,
    cores_per_task: int = 1,
    gpus_per_task: int = 0,
    exclusive: bool = False,
    duration: float = 0.0,
    name: str = "",
    cwd: str = "",
    environment: Mapping[str, str | None] = {},
    queue: str = "",
    dependencies: Sequence[Mapping[str, Any]] = (),
    constraints: Mapping[str, Any] = {},
    shell_options: Mapping[str, Any] = {},
    system: Mapping[str, Any] = {},
    user: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """A version 1 jobspec as a plain document.

    `ntasks` None is one task, or with `nnodes` one per node, each having its node to itself. `nnodes` 0 is
    anywhere. `dependencies` are objects (`dependency.parse`). `system` and `user` are further attributes.
    Raises InvalidRequest when the numbers contradict each other."""
    if not command:
        raise InvalidRequest("no command given")
    if ntasks is None:
        ntasks = nnodes or 1
        exclusive = exclusive or nnodes > 0
    _check_numbers(ntasks, nnodes, cores_per_task, gpus_per_task, exclusive)
    attributes: dict[str, Any] = {"system": {"duration": duration, **system}}
    if user:
        attributes["user"] = dict(user)
    _add(attributes["system"], cwd=cwd, queue=queue, environment=environment, constraints=constraints)
    _add(attributes["system"], dependencies=[dict(entry) for entry in dependencies])
    _add_nested(attributes["system"], "job", "name", name)
    _add_nested(attributes["system"], "shell", "options", shell_options)
    uneven = nnodes > 0 and ntasks % nnodes != 0
    return {
        "version": 1,
        "resources": [_resources(ntasks, nnodes, cores_per_task, gpus_per_task, exclusive)],
        "tasks": [
            {
                "command": list(command),
                "slot": SLOT,
                "count": {"total": ntasks} if uneven else {"per_slot": 1},
            }
        ],
        "attributes": attributes,
    }


def _resources(ntasks: int, nnodes: int, cores: int, gpus: int, exclusive: bool) -> dict[str, Any]:
    leaves = [{"type": "core", "count": cores}]
    if gpus:
        leaves.append({"type": "gpu", "count": gpus})
    if not nnodes:
        return {"type": "slot", "count": ntasks, "label": SLOT, "with": leaves}
    slot = {"type": "slot", "count": -(-ntasks // nnodes), "label": SLOT, "with": leaves}
    node: dict[str, Any] = {"type": "node", "count": nnodes, "with": [slot]}
    if exclusive:
        node["exclusive"] = True
    return node


def _check_numbers(ntasks: int, nnodes: int, cores: int, gpus: int, exclusive: bool) -> None:
    for what, number, least in (
        ("nodes", nnodes, 0),
        ("tasks", ntasks, 1),
        ("cores per task", cores, 1),
        ("gpus per task", gpus, 0),
    ):
        if number < least:
            raise InvalidRequest(f"the number of {what} must be {least} or more, not {number}")
    if nnodes > ntasks:
        raise InvalidRequest(f"{ntasks} tasks cannot fill {nnodes} nodes: ask for at least as many tasks as nodes")
    if exclusive and not nnodes:
        raise InvalidRequest("exclusive means whole nodes: say how many nodes")


def _add(system: dict[str, Any], **given: object) -> None:
    system.update((key, _own(value)) for key, value in given.items() if value)


def _add_nested(system: dict[str, Any], outer: str, inner: str, value: object) -> None:
    if value:
        system[outer] = {**system.get(outer, {}), inner: _own(value)}


def _own(value: object) -> object:
    """A copy of a map, so that what the caller does with its own later changes no jobspec."""
    return dict(value) if isinstance(value, Mapping) else value
