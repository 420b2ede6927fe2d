"""From a document (RFC 14, RFC 25) to a Jobspec. What is refused is refused with the path of the field."""

from __future__ import annotations

from typing import Any

from fluxlike.jobspec import fields
from fluxlike.jobspec.attributes import check_attributes, check_environment
from fluxlike.jobspec.count import parse_count
from fluxlike.jobspec.model import Jobspec, Resource, Task, find_slot
from fluxlike.jobspec.v1 import check_v1, is_v1

VERSIONS = (1, 999, 9999)
"""1: V1, or canonical where it goes beyond V1. The others are what RFC 14 and Fluxion call canonical."""

MAX_TASKS = 2**31 - 1
"""Task ranks are C ints to MPI."""

MAX_LEVELS = 32
"""Of `with` in one another; a whole data centre has about ten."""

MAX_VERTICES = 10_000
"""In one request. They are matched one by one, so more would be a way to stall a scheduler."""

_KEYS = ("version", "resources", "tasks", "attributes")
_RESOURCE_KEYS = frozenset({"type", "count", "with", "label", "unit", "exclusive", "id"})
_TASK_KEYS = frozenset({"command", "slot", "count", "distribution", "attributes"})
_TASK_COUNTS = ("per_slot", "total", "per_resource")


def parse(obj: object) -> Jobspec:
    """The checked jobspec of a decoded document, whatever that is. Raises InvalidJobspec, nothing else."""
    body = fields.mapping(obj, "")
    for key in _KEYS:
        if key not in body:
            fields.refuse("is missing", key)
    if len(body) > len(_KEYS):
        fields.known_keys(body, _KEYS, "")
    version = body["version"]
    if type(version) is not int or version not in VERSIONS:
        fields.refuse(f"must be 1, not {fields.shown(version)}", "version")
    spec = Jobspec(
        version,
        _Resources().parse_list(body["resources"], "resources", 1),
        tuple(
            [_parse_task(item, f"tasks[{index}]") for index, item in enumerate(fields.items(body["tasks"], "tasks"))]
        ),
        check_attributes(body["attributes"]),
    )
    if is_v1(spec):
        check_v1(spec)
    _check_slots(spec)
    return spec


def loads(text: str | bytes) -> Jobspec:
    """The jobspec in a JSON or YAML text."""
    from fluxlike.jobspec.text import read  # yaml is slow to import, and only files need it

    return parse(read(text))


class _Resources:
    """One walk down the request, counting what it meets."""

    __slots__ = ("labels", "left")

    def __init__(self) -> None:
        self.labels: set[str] = set()
        self.left = MAX_VERTICES

    def parse_list(self, value: object, path: str, level: int, in_slot: bool = False) -> tuple[Resource, ...]:
        vertices = fields.items(value, path)
        self.left -= len(vertices)
        if level > MAX_LEVELS or self.left < 0:
            fields.refuse("is nested too deeply" if level > MAX_LEVELS else "holds too many resources", path)
        return tuple([self.parse_one(vertex, f"{path}[{i}]", level, in_slot) for i, vertex in enumerate(vertices)])

    def parse_one(self, value: object, path: str, level: int, in_slot: bool) -> Resource:
        body = fields.mapping(value, path)
        for key in ("type", "count"):
            if key not in body:
                fields.refuse("is missing", f"{path}.{key}")
        if not body.keys() <= _RESOURCE_KEYS:
            fields.known_keys(body, _RESOURCE_KEYS, path)
        type_ = fields.name(body["type"], f"{path}.type")
        count = parse_count(body["count"], f"{path}.count")
        exclusive = body.get("exclusive")
        if "exclusive" in body and not isinstance(exclusive, bool):
            fields.refuse(f"must be true or false, not {fields.shown(exclusive)}", f"{path}.exclusive")
        label = self.parse_label(body["label"], f"{path}.label") if "label" in body else ""
        if type_ == "slot":
            _check_slot(body, path, in_slot)
        children: tuple[Resource, ...] = ()
        if "with" in body:
            children = self.parse_list(body["with"], f"{path}.with", level + 1, in_slot or type_ == "slot")
        return Resource(type_, count, label, _text(body, "unit", path), exclusive, children, _text(body, "id", path))

    def parse_label(self, value: object, path: str) -> str:
        label = fields.name(value, path)
        if label in self.labels:
            fields.refuse(f"the label {fields.shown(label)} is used twice", path)
        self.labels.add(label)
        return label


def _check_slot(body: dict[str, Any], path: str, in_slot: bool) -> None:
    if in_slot:
        fields.refuse("a slot cannot hold another slot", f"{path}.type")
    if "label" not in body:
        fields.refuse("is missing: tasks name their slot by it", f"{path}.label")
    if "with" not in body:
        fields.refuse("is missing: a slot must hold something", f"{path}.with")


def _text(body: dict[str, Any], key: str, path: str) -> str:
    return fields.string(body[key], f"{path}.{key}") if key in body else ""


def _parse_task(value: object, path: str) -> Task:
    body = fields.mapping(value, path)
    for key in ("command", "slot", "count"):
        if key not in body:
            fields.refuse("is missing", f"{path}.{key}")
    if not body.keys() <= _TASK_KEYS:
        fields.known_keys(body, _TASK_KEYS, path)
    attributes: dict[str, Any] | None = None
    if "attributes" in body:
        attributes = fields.mapping(body["attributes"], f"{path}.attributes")
        fields.freeform(attributes, f"{path}.attributes")
        if "environment" in attributes:
            check_environment(attributes["environment"], f"{path}.attributes.environment")
    per_slot, total, per_resource = _parse_task_count(body["count"], f"{path}.count")
    return Task(
        _parse_command(body["command"], f"{path}.command"),
        fields.name(body["slot"], f"{path}.slot"),
        per_slot,
        total,
        per_resource,
        _text(body, "distribution", path),
        attributes,
    )


def _parse_task_count(value: object, path: str) -> tuple[int | None, int | None, tuple[str, int] | None]:
    body = fields.mapping(value, path)
    if len(body) != 1:
        fields.refuse(f"must hold exactly one of {', '.join(_TASK_COUNTS)}", path)
    if "per_slot" in body:
        return fields.positive(body["per_slot"], f"{path}.per_slot", MAX_TASKS), None, None
    if "total" in body:
        return None, fields.positive(body["total"], f"{path}.total", MAX_TASKS), None
    fields.known_keys(body, _TASK_COUNTS, path)
    path += ".per_resource"
    inner = fields.mapping(body["per_resource"], path)
    for key in ("type", "count"):
        if key not in inner:
            fields.refuse("is missing", f"{path}.{key}")
    fields.known_keys(inner, ("type", "count"), path)
    number = fields.positive(inner["count"], f"{path}.count", MAX_TASKS)
    return None, None, (fields.name(inner["type"], f"{path}.type"), number)


def _parse_command(value: object, path: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = _split_command(fields.string(value, path), path)
    words = fields.items(value, path)
    for index, word in enumerate(words):
        fields.string(word, f"{path}[{index}]")
    if not words[0]:
        fields.refuse("the program's name must not be empty", f"{path}[0]")
    return tuple(words)


def _split_command(text: str, path: str) -> list[str]:
    """RFC 25's schema lets a command be one string; whoever writes `command: sleep 10` means two words."""
    from shlex import split

    try:
        return split(text)
    except ValueError as error:
        fields.refuse(f"cannot be split into words: {error}", path)


def _check_slots(spec: Jobspec) -> None:
    """Every task's slot is there, and the tasks can be numbered."""
    for index, task in enumerate(spec.tasks):
        found = find_slot(task.slot, spec.resources)
        if found is None:
            fields.refuse(f"no slot has the label {fields.shown(task.slot)}", f"tasks[{index}].slot")
        if task.per_resource is not None and not _holds(task.per_resource[0], found[0].children):
            kind = fields.shown(task.per_resource[0])
            fields.refuse(f"the slot holds no {kind}", f"tasks[{index}].count.per_resource.type")
    ntasks = spec.ntasks
    if ntasks is not None and ntasks > MAX_TASKS:
        fields.refuse(f"asks for {ntasks} tasks in all; {MAX_TASKS} is the most", "tasks")


def _holds(kind: str, resources: tuple[Resource, ...]) -> bool:
    return any(resource.type == kind or _holds(kind, resource.children) for resource in resources)
