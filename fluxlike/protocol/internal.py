"""Topics between modules of rank 0. They never leave the process, so rows may hold live objects."""

from __future__ import annotations

from fluxlike.protocol.payload import Payload

# As typing.TYPE_CHECKING, without the price of importing typing in every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LaunchRow:
    """One job to be started, or, after a restart, to be found again."""

    __slots__ = (
        "adopt",
        "allocated_at",
        "attempt",
        "cc",
        "digest",
        "ended",
        "id",
        "nodes",
        "ntasks",
        "spec",
        "started",
    )

    def __init__(
        self,
        id: int,
        attempt: int,
        digest: str,
        spec: dict[str, Any],
        cc: str | None,
        nodes: list[tuple[int, int, int, str, str]],
        ntasks: int,
        allocated_at: float,
        adopt: bool = False,
        started: bool = False,
        ended: dict[int, int] | None = None,
    ) -> None:
        self.id = id
        self.attempt = attempt
        self.digest = digest
        self.spec = spec
        self.cc = cc
        self.nodes = nodes
        """Rows of (rank, first task, number of tasks, cores, gpus)."""
        self.ntasks = ntasks
        self.allocated_at = allocated_at
        self.adopt = adopt
        self.started = started
        self.ended = ended or {}
        """rank -> highest wait status of its tasks, of ranks that are through."""


class Launch(Payload):
    topic = "exec.launch"
    rows: list[Any]


class EndTasks(Payload):
    """Rows of (job id, first signal): the kill sequence."""

    topic = "exec.end"
    rows: list[Any]


class SignalTasks(Payload):
    topic = "exec.signal-job"
    id: int
    signum: int


class FeedTasks(Payload):
    topic = "exec.feed-job"
    id: int
    tasks: list[int]
    data: bytes
    eof: bool


class Settled(Payload):
    """Answer of the job manager once what it was told is committed."""


class JobReports(Payload):
    """Rows of (job id, "start"|"finish"|"exception", wall time, context). Answered with Settled after the commit."""

    topic = "job.report"
    rows: list[Any]


class NodeJoined(Payload):
    topic = "resource.join"
    rank: int
    host: str
    cores: str
    gpus: str


class NodesChanged(Payload):
    """Rows of (rank, host, core mask, gpu mask, available): what the scheduler must know."""

    topic = "queue.nodes"
    rows: list[Any]


class UsageReply(Payload):
    usage: dict[Any, Any]
    """rank -> (core mask, gpu mask) in use."""


class Usage(Payload):
    topic = "queue.usage"


class JobsEnded(Payload):
    """Answer: no job runs any more."""


class StopJobs(Payload):
    """The instance stops: no more starts, running jobs are cancelled; with `all`, pending ones too."""

    topic = "job.stop-all"
    all: bool


class OutputDone(Payload):
    """Jobs that became inactive: whoever follows their output may stop waiting."""

    topic = "output.done"
    ids: list[int]


class JobAliveReply(Payload):
    active: bool


class JobAlive(Payload):
    """Will this job still produce output? NotFound if there is no such job."""

    topic = "job.alive"
    id: int


class OutputForget(Payload):
    """Jobs that were purged: their output goes with them, and that of the tasks of arrays, by ranges of ids."""

    topic = "output.forget"
    ids: list[int]
    ranges: list[Any]
