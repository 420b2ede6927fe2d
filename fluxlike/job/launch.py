"""From a jobspec to what an executor needs to run its tasks."""

from __future__ import annotations

from typing import Any

from fluxlike.errors import InvalidJobspec
from fluxlike.jobspec.model import Jobspec

OPTIONS = "attributes.system.shell.options"


def executor_spec(spec: Jobspec) -> dict[str, Any]:
    """The part of a jobspec that travels to the nodes (docs/rfc/003); everything about one job is in its row.

    Raises InvalidJobspec for options that are known here and have the wrong shape."""
    options = spec.shell_options
    output = _map(options.get("output"), f"{OPTIONS}.output")
    stdout, stderr = _sink(output, "stdout"), _sink(output, "stderr")
    return {
        "command": list(spec.command),
        "env": {name: value for name, value in spec.environment.items() if value is not None},
        "cwd": spec.cwd or "/",
        "stdin": str(_map(options.get("input"), f"{OPTIONS}.input").get("stdin") or "null"),
        "stdout": stdout["path"],
        "stderr": stderr["path"],
        "label": stdout["label"] or stderr["label"],
        "append": output.get("mode") == "append",
        "name": spec.name,
    }


_PER_NODE = ("{{node", "{{task", "{{tmpdir")


def shares_a_file(spec: dict[str, Any]) -> bool:
    """Whether all nodes of a job write to one file that is to be emptied first: then one of them must begin."""
    paths = [spec["stdout"], spec["stderr"]]
    return not spec["append"] and any(path and not any(tag in path for tag in _PER_NODE) for path in paths)


def appending(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "append": True}


def _sink(output: dict[str, Any], stream: str) -> dict[str, Any]:
    found = _map(output.get(stream), f"{OPTIONS}.output.{stream}")
    path = str(found.get("path") or "")
    return {"path": "" if path in ("kvs", "none") else path, "label": bool(found.get("label"))}


def _map(value: object, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidJobspec("must be a map", path)
    return value
