"""The jobspec as values. `parse` makes and checks them; they are never changed afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

from fluxlike.idset import Idset


class Value:
    """Equality, hash and repr over the slots of a class."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    def _key(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__slots__])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class Count(Value):
    """How many: exactly `min` when `max` equals it, else every value that `operator` and `operand` step to.

    `max` None is no upper end. `ids` is set when the acceptable counts were listed one by one ("4,9,16")."""

    __slots__ = ("ids", "max", "min", "operand", "operator")

    def __init__(
        self, min: int, max: int | None, operator: str = "+", operand: int = 1, ids: Idset | None = None
    ) -> None:
        self.min = min
        self.max = max
        self.operator = operator
        self.operand = operand
        self.ids = ids

    @classmethod
    def exactly(cls, number: int) -> Self:
        return cls(number, number)

    @property
    def low(self) -> int:
        return self.min

    @property
    def fixed(self) -> bool:
        return self.min == self.max

    def values(self, limit: int) -> Iterator[int]:
        """The acceptable counts up to `limit`, ascending."""
        top = limit if self.max is None else min(self.max, limit)
        if self.ids is not None:
            yield from (number for number in self.ids if number <= top)
            return
        number = self.min
        while number <= top:
            yield number
            number = self._after(number)

    def _after(self, number: int) -> int:
        if self.operator == "+":
            return number + self.operand
        return number * self.operand if self.operator == "*" else number**self.operand

    def to_json(self) -> int | str | dict[str, Any]:
        if self.ids is not None:
            return str(self.ids)
        if self.fixed:
            return self.min
        range_: dict[str, Any] = {"min": self.min}
        if self.max is not None:
            range_["max"] = self.max
        if (self.operator, self.operand) != ("+", 1):
            range_["operator"] = self.operator
            range_["operand"] = self.operand
        return range_


class Resource(Value):
    """A vertex of the request. `exclusive` None means "as RFC 14 has it": yes inside a slot, no outside."""

    __slots__ = ("children", "count", "exclusive", "id", "label", "type", "unit")

    def __init__(
        self,
        type: str,
        count: Count,
        label: str = "",
        unit: str = "",
        exclusive: bool | None = None,
        children: tuple[Resource, ...] = (),
        id: str = "",
    ) -> None:
        self.type = type
        self.count = count
        self.label = label
        self.unit = unit
        self.exclusive = exclusive
        self.children = children
        self.id = id

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"type": self.type, "count": self.count.to_json()}
        if self.exclusive is not None:
            body["exclusive"] = self.exclusive
        for name, text in (("label", self.label), ("unit", self.unit), ("id", self.id)):
            if text:
                body[name] = text
        if self.children:
            body["with"] = [child.to_json() for child in self.children]
        return body


class Task(Value):
    """One program and how many of it. One of `per_slot`, `total`, `per_resource` (type, number) is set."""

    __slots__ = ("attributes", "command", "distribution", "per_resource", "per_slot", "slot", "total")

    def __init__(
        self,
        command: tuple[str, ...],
        slot: str,
        per_slot: int | None = None,
        total: int | None = None,
        per_resource: tuple[str, int] | None = None,
        distribution: str = "",
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.command = command
        self.slot = slot
        self.per_slot = per_slot
        self.total = total
        self.per_resource = per_resource
        self.distribution = distribution
        self.attributes: dict[str, Any] = {} if attributes is None else attributes

    def __hash__(self) -> int:
        return hash((self.command, self.slot, self.per_slot, self.total, self.per_resource))

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"command": list(self.command), "slot": self.slot, "count": self._count()}
        if self.distribution:
            body["distribution"] = self.distribution
        if self.attributes:
            body["attributes"] = self.attributes
        return body

    def _count(self) -> dict[str, Any]:
        if self.per_slot is not None:
            return {"per_slot": self.per_slot}
        if self.total is not None:
            return {"total": self.total}
        kind, number = self.per_resource or ("", 0)
        return {"per_resource": {"type": kind, "count": number}}


class Jobspec(Value):
    """A checked jobspec. `attributes` is shared with the document it came from: nobody writes into it."""

    __slots__ = ("attributes", "resources", "tasks", "version")

    def __init__(
        self,
        version: int,
        resources: tuple[Resource, ...],
        tasks: tuple[Task, ...],
        attributes: dict[str, Any],
    ) -> None:
        self.version = version
        self.resources = resources
        self.tasks = tasks
        self.attributes = attributes

    def __hash__(self) -> int:
        return hash((self.version, self.resources, self.tasks))

    def to_json(self) -> dict[str, Any]:
        """`parse` of this gives an equal jobspec."""
        return {
            "version": self.version,
            "resources": [resource.to_json() for resource in self.resources],
            "tasks": [task.to_json() for task in self.tasks],
            "attributes": self.attributes,
        }

    @property
    def system(self) -> dict[str, Any]:
        found: dict[str, Any] = self.attributes.get("system") or {}
        return found

    @property
    def command(self) -> tuple[str, ...]:
        return self.tasks[0].command

    @property
    def duration(self) -> float:
        """Seconds; 0.0 is no limit of the job's own."""
        return float(self.system.get("duration", 0.0))

    @property
    def cwd(self) -> str:
        return str(self.system.get("cwd", ""))

    @property
    def environment(self) -> dict[str, str | None]:
        """None unsets the variable."""
        found: dict[str, str | None] = self.system.get("environment", {})
        return found

    @property
    def name(self) -> str:
        """As given, else the last part of the program's path."""
        given = self.system.get("job", {}).get("name")
        return str(given) if given else self.command[0].rpartition("/")[2] or self.command[0]

    @property
    def queue(self) -> str:
        return str(self.system.get("queue", ""))

    @property
    def dependencies(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.system.get("dependencies", [])
        return found

    @property
    def constraints(self) -> dict[str, Any]:
        found: dict[str, Any] = self.system.get("constraints", {})
        return found

    @property
    def shell_options(self) -> dict[str, Any]:
        found: dict[str, Any] = self.system.get("shell", {}).get("options", {})
        return found

    @property
    def ntasks(self) -> int | None:
        """None when a range leaves it to the allocation."""
        numbers = [_tasks_of(task, self.resources) for task in self.tasks]
        return None if None in numbers else sum(number for number in numbers if number is not None)


def _tasks_of(task: Task, resources: tuple[Resource, ...]) -> int | None:
    if task.total is not None:
        return task.total
    found = find_slot(task.slot, resources)
    if found is None:
        return 0
    slot, slots = found
    if task.per_slot is not None:
        return None if slots is None else slots * task.per_slot
    kind, number = task.per_resource or ("", 0)
    inside = _number_of(kind, slot.children)
    return None if slots is None or inside is None else slots * inside * number


def find_slot(label: str, resources: tuple[Resource, ...]) -> tuple[Resource, int | None] | None:
    """The slot of that label and how many of it there are in all (None: a range decides)."""
    for resource in resources:
        number = resource.count.min if resource.count.fixed else None
        if resource.type == "slot":
            if resource.label == label:
                return resource, number
            continue
        below = find_slot(label, resource.children)
        if below is not None:
            slot, inner = below
            return slot, None if inner is None or number is None else inner * number
    return None


def _number_of(kind: str, resources: tuple[Resource, ...]) -> int | None:
    total = 0
    for resource in resources:
        inner = 1 if resource.type == kind else _number_of(kind, resource.children)
        if inner == 0:
            continue
        if inner is None or not resource.count.fixed:
            return None
        total += inner * resource.count.min
    return total
