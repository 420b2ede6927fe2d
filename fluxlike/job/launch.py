"""From a jobspec to what an executor needs to run its tasks."""

from __future__ import annotations

from typing import Any

from fluxlike.jobspec.model import Jobspec


def executor_spec(spec: Jobspec) -> dict[str, Any]:
    """The part of a jobspec that travels to the nodes (docs/rfc/003); everything about one job is in its row."""
    options = spec.shell_options
    output = options.get("output") or {}
    stdout, stderr = _sink(output, "stdout"), _sink(output, "stderr")
    return {
        "command": list(spec.command),
        "env": {name: value for name, value in spec.environment.items() if value is not None},
        "cwd": spec.cwd or "/",
        "stdin": str((options.get("input") or {}).get("stdin") or "null"),
        "stdout": stdout["path"],
        "stderr": stderr["path"],
        "label": stdout["label"] or stderr["label"],
        "append": output.get("mode") == "append",
        "name": spec.name,
    }


def _sink(output: dict[str, Any], stream: str) -> dict[str, Any]:
    found = output.get(stream) or {}
    path = str(found.get("path") or "")
    return {"path": "" if path in ("kvs", "none") else path, "label": bool(found.get("label"))}
