"""What RFC 25 (version 1) demands beyond RFC 14.

A version 1 document that uses only V1's words is held to V1's rules. One that uses anything more (another
type, a range, several resources or tasks, a node inside a slot ...) is canonical, and RFC 14's rules do.
"""

from __future__ import annotations

from fluxlike.jobspec import fields
from fluxlike.jobspec.model import Jobspec, Resource, Task

_TYPES = frozenset({"node", "slot", "core", "gpu"})
_SHAPES = "version 1 knows slot>core and node>slot>core, the slot with or without gpu"


def is_v1(spec: Jobspec) -> bool:
    """Whether the document uses V1's words only."""
    if spec.version != 1 or len(spec.resources) != 1 or len(spec.tasks) != 1:
        return False
    task = spec.tasks[0]
    if task.per_resource is not None or task.distribution or task.attributes:
        return False
    return _plain(spec.resources[0])


def check_v1(spec: Jobspec) -> None:
    top = spec.resources[0]
    if top.type == "node":
        nodes, slot, path = top.count.min, _only_slot(top), "resources[0].with[0]"
    else:
        nodes, slot, path = 1, top, "resources[0]"
    if slot.type != "slot":
        wanted = "slot" if slot is not top else "node or slot"
        fields.refuse(f"must be {wanted}, not {slot.type}: {_SHAPES}", f"{path}.type")
    _check_slot(slot, path)
    _check_task(spec.tasks[0], nodes if slot is not top else 0, nodes * slot.count.min)
    if "system" not in spec.attributes:
        fields.refuse("is missing", "attributes.system")
    if "duration" not in spec.system:
        fields.refuse("is missing (seconds; 0 is no limit)", "attributes.system.duration")


def _plain(resource: Resource) -> bool:
    if resource.type not in _TYPES or not resource.count.fixed or resource.id:
        return False
    if resource.type == "slot" and any(child.type == "node" for child in resource.children):
        return False
    return all(map(_plain, resource.children))


def _only_slot(node: Resource) -> Resource:
    if not node.children:
        fields.refuse(f"is missing: {_SHAPES}", "resources[0].with")
    if len(node.children) > 1:
        fields.refuse(f"must hold one slot, not {len(node.children)} resources: {_SHAPES}", "resources[0].with")
    if node.label:
        fields.refuse("only a slot has a label in version 1", "resources[0].label")
    return node.children[0]


def _check_slot(slot: Resource, path: str) -> None:
    seen: set[str] = set()
    for index, leaf in enumerate(slot.children):
        place = f"{path}.with[{index}]"
        if leaf.children:
            fields.refuse(f"{leaf.type} holds nothing in version 1", f"{place}.with")
        if leaf.label:
            fields.refuse("only a slot has a label in version 1", f"{place}.label")
        if leaf.exclusive is not None:
            fields.refuse("only a node or slot can be exclusive in version 1", f"{place}.exclusive")
        if leaf.type in seen:
            fields.refuse(f"a second {leaf.type} in the same slot", f"{place}.type")
        seen.add(leaf.type)
    if "core" not in seen:
        fields.refuse(f"a slot must hold core: {_SHAPES}", f"{path}.with")


def _check_task(task: Task, nodes: int, slots: int) -> None:
    if task.per_slot is not None and task.per_slot != 1:
        fields.refuse(f"must be 1 in version 1, not {task.per_slot}", "tasks[0].count.per_slot")
    if task.total is None:
        return
    if task.total < nodes:
        fields.refuse(f"{task.total} tasks cannot fill {nodes} nodes", "tasks[0].count.total")
    if task.total > slots:
        fields.refuse(f"{task.total} tasks do not fit {slots} slots", "tasks[0].count.total")
