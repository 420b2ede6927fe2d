"""What people name on a command line: a job, or one task of an array as `ID.INDEX`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fluxlike_cli.output.ids import id_text

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import JobRecord, TaskRecord


class Target:
    """A job, or the task `index` of it."""

    __slots__ = ("id", "index")

    def __init__(self, id: int, index: int | None = None) -> None:
        self.id = id
        self.index = index

    def __str__(self) -> str:
        return id_text(self.id) if self.index is None else f"{id_text(self.id)}.{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and (self.id, self.index) == (other.id, other.index)

    def __hash__(self) -> int:
        return hash((self.id, self.index))


def parse_target(text: str) -> Target:
    """`ƒuZZybuNNy` or `ƒuZZybuNNy.3`, the id in any encoding. InvalidRequest for what is neither."""
    from fluxlike.ids import decode

    left, dot, right = text.strip().rpartition(".")
    if dot and right.isdecimal() and left.count(".") in (0, 3):
        return Target(decode(left), int(right))
    return Target(decode(text))


def task_of(client: Client, target: Target) -> TaskRecord:
    """Raises NotFound."""
    from fluxlike.errors import NotFound

    assert target.index is not None
    for record in client.tasks(target.id, first=target.index, limit=1):
        if record.index == target.index:
            return record
    raise NotFound(f"array {id_text(target.id)} has no task {target.index}")


def ids_of(client: Client, targets: Iterable[Target]) -> dict[int, str]:
    """The ids by which the instance knows them, each with the name that its user knows; in the order given."""
    found = {}
    for target in dict.fromkeys(targets):
        found[target.id if target.index is None else task_of(client, target).record["id"]] = str(target)
    return found


def outputs_of(job_id: int, tasks: int) -> Iterator[tuple[int, str]]:
    """Whose output is that of a job: (id, name) of itself, or of every task if it is an array."""
    from fluxlike.ids import nth_after

    name = id_text(job_id)
    if not tasks:
        yield job_id, name
    for index in range(tasks):
        yield nth_after(job_id, index + 1), f"{name}.{index}"


def task_as_job(task: TaskRecord) -> JobRecord:
    """For what is told about the end of either."""
    from fluxlike.client.results import JobRecord

    nothing = {"exception_type": "", "exception_severity": -1, "exception_note": ""}
    return JobRecord({**nothing, **task.record})
