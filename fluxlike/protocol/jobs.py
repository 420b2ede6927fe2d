"""Topics of the job manager and of job output. Job ids are 64-bit integers here; edges print and parse F58."""

from __future__ import annotations

from fluxlike.protocol.payload import Payload

# As typing.TYPE_CHECKING, without the price of importing typing in every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Submitted(Payload):
    ids: list[int]


class Submit(Payload):
    """Many jobs in one message: `specs` are jobspecs (maps), `jobs` rows of [index into specs, cc value or nil].

    All are accepted or none is. The answer comes after the commit."""

    topic = "job.submit"
    specs: list[dict[str, Any]]
    jobs: list[Any]
    urgency: int = 16
    flags: list[str] = []


class JobListed(Payload):
    jobs: list[dict[str, Any]]


class JobList(Payload):
    """`states` holds names of states, virtual states and results (lower case), as `jobs --filter` takes them."""

    topic = "job.list"
    states: list[str] = []
    ids: list[int] = []
    userid: int = -1
    name: str = ""
    limit: int = 1000
    """Newest first within each state; 0 is no limit."""


class JobInfoReply(Payload):
    values: dict[str, Any]


class JobInfo(Payload):
    """`keys`: any of eventlog (list of [timestamp, name, context]), jobspec, R."""

    topic = "job.info"
    id: int
    keys: list[str]


class JobEventsReply(Payload):
    events: list[Any]
    """Rows of [timestamp, name, context]."""
    next: int
    done: bool
    """No further event will come: the job is inactive and all of its events have been given."""


class JobEvents(Payload):
    """Events from number `since` on. With `wait` and none there, the answer comes with the next one (long poll)."""

    topic = "job.events"
    id: int
    since: int = 0
    wait: bool = False


class JobEnds(Payload):
    jobs: list[dict[str, Any]]


class JobWait(Payload):
    """A stream of JobEnds as the jobs become inactive (committed); it ends when all have."""

    topic = "job.wait"
    ids: list[int]


class JobsTouched(Payload):
    ids: list[int]
    errors: list[Any]
    """Rows of [id, error code, text]."""


class JobRaise(Payload):
    topic = "job.raise"
    ids: list[int]
    type: str = "cancel"
    severity: int = 0
    note: str = ""
    states: list[str] = []
    """With no ids: every job in these states."""
    dry_run: bool = False


class JobKill(Payload):
    topic = "job.kill"
    ids: list[int]
    signum: int = 15


class JobUrgencySet(Payload):
    old: int


class JobUrgency(Payload):
    topic = "job.urgency"
    id: int
    urgency: int


class JobStatsReply(Payload):
    depend: int
    priority: int
    sched: int
    run: int
    cleanup: int
    inactive: int
    completed: int
    failed: int
    canceled: int
    timeout: int


class JobStats(Payload):
    topic = "job.stats"


class QueueState(Payload):
    started: bool
    reason: str
    pending: int
    running: int


class QueueStatus(Payload):
    topic = "queue.status"


class QueueStop(Payload):
    """No job is allocated until the queue is started again; running jobs go on."""

    topic = "queue.stop"
    reason: str = ""


class QueueStart(Payload):
    topic = "queue.start"


class OutputReadReply(Payload):
    records: list[Any]
    """Rows of [task rank, "stdout"|"stderr", bytes]."""
    next: int
    done: bool
    """The job is inactive and this was its last output."""


class OutputRead(Payload):
    """Spooled output of a job from spool offset `offset`; with `wait`, a long poll. Flow control is the asking."""

    topic = "output.read"
    id: int
    offset: int = 0
    limit: int = 1048576
    wait: bool = False


class JobStdin(Payload):
    """Data for the standard input of `tasks` (none named: all) of a running job."""

    topic = "job.stdin"
    id: int
    data: bytes = b""
    tasks: list[int] = []
    eof: bool = False
