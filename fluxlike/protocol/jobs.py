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

    A row may have a third field, dependencies on other jobs of this message: a list of [scheme, index into jobs], each
    index smaller than the row's own. All are accepted or none is. The answer comes after the commit."""

    topic = "job.submit"
    specs: list[dict[str, Any]]
    jobs: list[Any]
    urgency: int = 16
    flags: list[str] = []
    key: str = ""
    """A submission with a key that was used before answers with the ids of then, and runs nothing again."""


class SubmitArray(Payload):
    """One job with `count` tasks of its own allocation, state, exit code and output each: `ID.INDEX`.

    `values` are the tasks' `{cc}`; without them it is the index. Answered as job.submit, with one id."""

    topic = "job.submit-array"
    spec: dict[str, Any]
    count: int
    values: list[str] = []
    urgency: int = 16
    flags: list[str] = []
    key: str = ""
    max_running: int = 0
    """Tasks that may hold resources at once; 0 is no limit."""
    max_fails: int = -1
    """More failed tasks than this cancel the rest; -1 is no limit."""


class JobListed(Payload):
    jobs: list[dict[str, Any]]
    cursor: str = ""
    """Give it back for the jobs after these; empty if there are no more."""


class JobList(Payload):
    """`states` holds names of states, virtual states and results (lower case), as `jobs --filter` takes them."""

    topic = "job.list"
    states: list[str] = []
    ids: list[int] = []
    userid: int = -1
    name: str = ""
    limit: int = 1000
    """Newest first within each state; 0 is no limit."""
    since: float = 0.0
    """Of the inactive jobs, those that ended at this time or later."""
    cursor: str = ""


class JobTasksListed(Payload):
    tasks: list[dict[str, Any]]
    """Maps of index, cc, state, result, status, returncode, ranks, nodelist, t_run, t_inactive."""


class JobTasks(Payload):
    """Tasks of an array job in the order of their index, from `first` on."""

    topic = "job.tasks"
    id: int
    states: list[str] = []
    first: int = 0
    limit: int = 1000


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


class JobPurged(Payload):
    count: int


class JobPurge(Payload):
    """Forget inactive jobs for good: these ids, or those that ended more than `age` seconds ago, or all but the
    newest `num`; with both limits, what either says."""

    topic = "job.purge"
    ids: list[int] = []
    age: float = -1.0
    num: int = -1
    dry_run: bool = False


class JobUpdated(Payload):
    updates: dict[str, Any]
    """What holds now, by key."""


class JobUpdate(Payload):
    """Change an attribute of an active job. Keys: `duration` (a number of seconds, or "+N"/"-N" for more or less)
    and `name`; or the same written as `attributes.system.duration` and `attributes.system.job.name`."""

    topic = "job.update"
    id: int
    updates: dict[str, Any]


class JournalRows(Payload):
    events: list[Any]
    """Rows of [job id, number, timestamp, name, context], in the order they were committed."""


class JobJournal(Payload):
    """A stream of every job's events from now on, each batch after its commit. `names`: only these events."""

    topic = "job.journal"
    names: list[str] = []


class QueueState(Payload):
    started: bool
    reason: str
    pending: int
    running: int
    enabled: bool = True
    """Whether jobs may be submitted."""
    disable_reason: str = ""


class QueueStatus(Payload):
    topic = "queue.status"


class QueueStop(Payload):
    """No job is allocated until the queue is started again; running jobs go on."""

    topic = "queue.stop"
    reason: str = ""


class QueueStart(Payload):
    topic = "queue.start"


class QueueDisable(Payload):
    """Submissions are refused with this reason; jobs in the queue go on."""

    topic = "queue.disable"
    reason: str


class QueueEnable(Payload):
    topic = "queue.enable"


class QueueDrain(Payload):
    """Answered with QueueState once no job is pending or running."""

    topic = "queue.drain"


class QueueIdle(Payload):
    """Answered with QueueState once no job is running."""

    topic = "queue.idle"


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
