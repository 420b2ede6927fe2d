"""A job as this node sees it: its row, and what has become of its tasks."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from fluxlike_executor.jobid import f58
from fluxlike_executor.spec import Spec
from fluxlike_executor.window import OutputWindow
from fluxlike_executor.wire import ProtocolError

if TYPE_CHECKING:
    from fluxlike_executor.pipes import InputPipe, OutputPipe
    from fluxlike_executor.timers import Timer

Key = tuple[int, int]
"""Job id and attempt."""

ROW_TYPES: tuple[Any, ...] = (
    int,
    int,
    str,
    (str, int, type(None)),
    int,
    int,
    int,
    int,
    int,
    str,
    str,
)


class State(enum.Enum):
    QUEUED = "queued"
    RUNNING = "running"
    DRAINING = "draining"
    """No task is left; output waits for room in the window."""
    FINISHED = "finished"


class Job:
    __slots__ = (
        "alive",
        "attempt",
        "cc",
        "cores",
        "count",
        "digest",
        "directory",
        "error",
        "files",
        "first",
        "gpus",
        "id",
        "inputs",
        "kill_timer",
        "leftovers",
        "name",
        "nnodes",
        "node",
        "ntasks",
        "outputs",
        "pids",
        "settled",
        "spec",
        "state",
        "statuses",
        "window",
    )

    def __init__(self, row: list[Any], spec: Spec | None) -> None:
        """The row must have passed `check_row`. Without a spec the job can only fail."""
        self.id: int
        self.attempt: int
        self.digest: str
        self.node: int
        self.nnodes: int
        self.first: int
        self.count: int
        self.ntasks: int
        self.cores: str
        self.gpus: str
        (
            self.id,
            self.attempt,
            self.digest,
            cc,
            self.node,
            self.nnodes,
            self.first,
            self.count,
            self.ntasks,
            self.cores,
            self.gpus,
        ) = row
        self.name = f58(self.id).encode() if self.id >= 0 else b"#%d" % self.id
        """What strays are told apart by; for a job the FLUX_JOB_ID in their environment."""
        self.cc: str | None = None if cc in (None, "") else str(cc)
        self.spec = spec
        self.state = State.QUEUED
        self.directory = ""
        self.pids: list[int] = []
        self.statuses: list[int] = [0] * self.count
        self.alive = 0
        self.leftovers: list[int] = []
        """Process groups whose leader is gone while others of the group live on."""
        self.outputs: list[OutputPipe] = []
        self.inputs: dict[int, InputPipe] | None = None
        self.files: list[int] = []
        """Descriptors of labelled output files, open as long as the job."""
        self.window = OutputWindow()
        self.kill_timer: Timer | None = None
        self.error = ""
        self.settled = False
        """Its finish has been acknowledged."""

    @property
    def key(self) -> Key:
        return (self.id, self.attempt)

    @property
    def transient(self) -> bool:
        """A command that is no job: gone with the connection it came by."""
        return self.id < 0


def check_row(row: Any) -> None:
    """Raises ProtocolError for what is not a job row; afterwards its fields may be trusted."""
    if not isinstance(row, list) or len(row) != len(ROW_TYPES):
        raise ProtocolError(f"start: a job row has {len(ROW_TYPES)} fields")
    if not all(map(isinstance, row, ROW_TYPES)):
        raise ProtocolError(f"start: wrong type in the row of job {row[0]!r}")
    if row[7] < 1 or row[6] < 0:
        raise ProtocolError(f"start: job {row[0]} has no tasks here")
