"""The attributes of a jobspec: known ones are checked by type, any other may be any JSON (RFC 14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxlike.jobspec import dependency, fields
from fluxlike.jobspec.constraint import check_constraints


def check_attributes(value: object) -> dict[str, Any]:
    """The attributes as given; copied only where a dependency's scheme goes by an old name."""
    if value is None:
        return {}
    attributes = fields.mapping(value, "attributes")
    fields.known_keys(attributes, ("system", "user"), "attributes")
    if "user" in attributes:
        fields.mapping(attributes["user"], "attributes.user")
        fields.freeform(attributes["user"], "attributes.user")
    if "system" not in attributes:
        return attributes
    system = fields.mapping(attributes["system"], "attributes.system")
    for key, item in system.items():
        check = _SYSTEM.get(key)
        if check is not None:
            check(item, f"attributes.system.{key}")
        else:
            _check_unknown(key, item)
    if "dependencies" not in system:
        return attributes
    dependencies = dependency.check_all(system["dependencies"], "attributes.system.dependencies")
    if dependencies is system["dependencies"]:
        return attributes
    return {**attributes, "system": {**system, "dependencies": dependencies}}


def check_environment(value: object, path: str) -> None:
    """Names and values that a process can be given; null unsets."""
    environment = fields.mapping(value, path)
    try:
        # One join over all of them is ten times faster than looking at each, and raises or shows any fault.
        names = "\n".join(environment)
        text = "\n".join([item for item in environment.values() if item is not None])
        good = "=" not in names and "\0" not in names and "\0" not in text and "" not in environment
        names.encode()
        text.encode()
    except (TypeError, UnicodeEncodeError):
        good = False
    if not good:
        _refuse_environment(environment, path)


def _refuse_environment(environment: dict[Any, Any], path: str) -> None:
    for key, item in environment.items():
        place = fields.member(path, key)
        if "=" in fields.name(key, place):
            fields.refuse("the name of a variable must not contain '='", place)
        if item is not None:
            fields.string(item, place)


def _check_unknown(key: object, item: object) -> None:
    # Jobspecs are reused between instances that know different attributes, so an unknown one is no fault.
    path = fields.member("attributes.system", key)
    fields.string(key, path)
    fields.freeform(item, path)


def _check_text(value: object, path: str) -> None:
    fields.string(value, path)


def _check_seconds(value: object, path: str) -> None:
    fields.seconds(value, path)


def _check_job(value: object, path: str) -> None:
    for key, item in fields.mapping(value, path).items():
        place = fields.member(path, key)
        fields.string(key, place)
        fields.string(item, place)


def _check_shell(value: object, path: str) -> None:
    shell = fields.mapping(value, path)
    if "options" in shell:
        fields.mapping(shell["options"], f"{path}.options")
    fields.freeform(shell, path)


def _check_files(value: object, path: str) -> None:
    fields.freeform(fields.mapping(value, path), path)


def _checked_later(value: object, path: str) -> None:
    """Dependencies: their check also gives the value to keep."""


_SYSTEM: dict[str, Callable[[object, str], None]] = {
    "bank": _check_text,
    "constraints": check_constraints,
    "cwd": _check_text,
    "dependencies": _checked_later,
    "duration": _check_seconds,
    "environment": check_environment,
    "files": _check_files,
    "job": _check_job,
    "preemptible-after": _check_seconds,
    "project": _check_text,
    "queue": _check_text,
    "shell": _check_shell,
}
