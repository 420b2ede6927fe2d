"""Futures of jobs, and the errors they hold."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from typing import Any, Protocol, TypeVar

from fluxlike.client.results import Event, JobRecord
from fluxlike.errors import FluxlikeError
from fluxlike.ids import encode_f58
from fluxlike.jobspec.model import Jobspec

T = TypeVar("T")

EventCallback = Callable[["JobFuture[Any]", Event], None]


class JobFailed(FluxlikeError):
    """A call's job ended without an outcome: killed, cancelled, out of time, or never started. See `record`."""

    def __init__(self, text: str, record: JobRecord) -> None:
        super().__init__(text)
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.record)

    @classmethod
    def of(cls, record: JobRecord) -> JobFailed:
        why = record.exception_note or record.exception_type or f"exit code {record.returncode}"
        return cls(f"job {encode_f58(record.id)} {record.result} before its call was done: {why}", record)


class RemoteTraceback(Exception):
    """The cause of an exception that a call raised: where, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class Work:
    """What a future asks an instance for."""

    __slots__ = ("cc", "flags", "is_call", "jobspec", "payload", "urgency")

    def __init__(
        self,
        jobspec: dict[str, Any] | Jobspec,
        urgency: int,
        flags: tuple[str, ...] = (),
        *,
        is_call: bool = False,
        cc: str | None = None,
        payload: bytes = b"",
    ) -> None:
        self.jobspec = jobspec
        self.urgency = urgency
        self.flags = flags
        self.is_call = is_call
        """Whether its output is the outcome of a call."""
        self.cc = cc
        self.payload = payload
        """For its standard input, if it is too large for `cc`."""


class Carrier(Protocol):
    """Who brings a future's wishes to the instance. Any thread may call it."""

    def wait_for_id(self, future: JobFuture[Any], timeout: float | None) -> None: ...

    def cancel(self, future: JobFuture[Any]) -> None: ...

    def watch(self, future: JobFuture[Any], name: str, callback: EventCallback) -> None: ...


class JobFuture(Future[T]):
    """A job that was submitted, or will be in a moment.

    It can be cancelled until its job has ended; `running()` does not tell that the job runs, events do."""

    def __init__(self, carrier: Carrier, work: Work) -> None:
        super().__init__()
        self.work = work
        self.id: int | None = None
        """The job's, once it is known; `job_id` waits for it."""
        self._carrier = carrier
        self._untold = [True]
        """Emptied by the first of several threads that cancel; popping is atomic."""

    def job_id(self, timeout: float | None = None) -> int:
        """Waits until the job is stored. Raises the instance's refusal, CancelledError, or TimeoutError."""
        if self.id is None:
            self._carrier.wait_for_id(self, timeout)
        if self.id is not None:
            return self.id
        if not self.done():
            raise TimeoutError("the instance has not answered yet")
        error = None if self.cancelled() else self.exception()
        raise error or CancelledError

    def add_event_callback(self, name: str, callback: EventCallback) -> None:
        """`callback(future, event)` for each event of this name in the job's eventlog, also for those that were before.

        Called by the executor's thread, which it must not keep waiting; the future is done after the last one."""
        self._carrier.watch(self, name, callback)

    def cancel(self) -> bool:
        """Cancels the job as well, whether it waits or runs. False: it has ended before."""
        if not super().cancel():
            return False
        try:
            self._untold.pop()
        except IndexError:
            return True
        self.set_running_or_notify_cancel()
        self._carrier.cancel(self)
        return True

    # -- called by the carrier ------------------------------------------------------------------------------

    def succeed(self, value: T) -> None:
        try:
            self.set_result(value)
        except InvalidStateError:
            return  # cancelled meanwhile

    def fail(self, error: BaseException) -> None:
        try:
            self.set_exception(error)
        except InvalidStateError:
            return
