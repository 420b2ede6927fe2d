"""Topics between the execution module of rank 0 and the agent of each rank. The executor's own wire is docs/rfc/003."""

from __future__ import annotations

from fluxlike.protocol.payload import Payload

# As typing.TYPE_CHECKING, without the price of importing typing in every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ExecHelloReply(Payload):
    kill: list[Any]
    """Rows of [job id, attempt]: tasks that the executor holds and the queue no longer wants."""


class ExecHello(Payload):
    """A rank presents itself: its inventory and what its executor holds. Sent on every join, of either side."""

    topic = "exec.hello"
    rank: int
    host: str
    cores: str
    gpus: str
    epoch: str
    """The executor's life: a new one after the executor itself died."""
    pid: int
    jobs: list[Any]
    """Rows of [job id, attempt, "running"|"finished"]."""


class ExecStart(Payload):
    """Start tasks; harmless when repeated. Body of the executor's `start` message, passed through untouched."""

    topic = "exec.start"
    specs: dict[str, Any]
    jobs: list[Any]


class ExecSignal(Payload):
    """Rows of [job id, attempt, signal, whether to follow up with SIGKILL]."""

    topic = "exec.signal"
    signals: list[Any]


class ExecStdin(Payload):
    topic = "exec.stdin"
    id: int
    attempt: int
    tasks: list[int]
    data: bytes
    eof: bool


class ExecAck(Payload):
    sequence: int


class ExecResults(Payload):
    """Results of one executor, in order. Answered with the last sequence number once they are committed."""

    topic = "exec.results"
    rank: int
    epoch: str
    results: list[Any]


class OutputAck(Payload):
    rows: list[Any]
    """Rows of [job id, attempt, bytes spooled so far from that node]."""


class OutputWrite(Payload):
    """Rows of [job id, attempt, node index, offset, task, stream, data]; answered once they are in the spool."""

    topic = "output.write"
    rows: list[Any]
