"""Between futures and an instance: one thread and one connection for any number of jobs.

Futures leave what they want in a list and ring; the thread takes all of it at once. Submissions that come while others
are on their way share the next message, so that many futures cost few round trips, and one costs no delay.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from fluxlike.client import requests
from fluxlike.client.blocking import Client
from fluxlike.client.call_traffic import CallTraffic
from fluxlike.client.core import is_end, is_last, read_reply
from fluxlike.client.event_watch import EventWatch
from fluxlike.client.futures import EventCallback, JobFuture
from fluxlike.client.results import JobRecord
from fluxlike.client.submission import Bundle
from fluxlike.errors import Disconnected, FluxlikeError, InvalidRequest, Unsatisfiable
from fluxlike.ids import encode_f58
from fluxlike.protocol.instance import Ping
from fluxlike.protocol.jobs import JobEnds, Submitted
from fluxlike.protocol.message import ANY, Message
from fluxlike.protocol.payload import Payload

log = logging.getLogger("fluxlike.client")

ON_THEIR_WAY = 2
"""Submit messages at a time; what is submitted meanwhile is gathered for the next."""

Group = list[JobFuture[Any]]


class Courier:
    """Implements futures.Carrier. Its thread lives until `close` was called and every future is settled."""

    def __init__(self, uri: str | None) -> None:
        self._client = Client(uri)
        self.uri = self._client.uri
        self._lock = threading.Condition()
        """Guards what threads share, down to the next comment; notified when ids are known or futures settled."""
        self._submitted: Group = []
        self._cancelled: Group = []
        self._watched: list[tuple[JobFuture[Any] | None, str, EventCallback]] = []
        self._unsettled: set[JobFuture[Any]] = set()
        self._closing = False
        self._gone: FluxlikeError | None = None
        self._bell_r, self._bell_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # From here on only the thread's.
        self._queue: deque[JobFuture[Any]] = deque()
        self._jobs: dict[int, JobFuture[Any]] = {}
        self._expected: dict[int, Callable[[Message], None]] = {}
        self._messages_out = 0
        self._unwanted: Group = []
        """To be cancelled by the next message."""
        self._events = EventWatch(self.ask, self._jobs.get, lambda: self._messages_out > 0)
        self._calls = CallTraffic(self.ask, self._settle)
        self._thread = threading.Thread(target=self._run, name="fluxlike executor", daemon=True)
        self._thread.start()

    # -- called by any thread -------------------------------------------------------------------------------

    def submit(self, future: JobFuture[Any]) -> None:
        """Raises RuntimeError after `close`, Disconnected if the connection is gone."""
        with self._lock:
            if self._closing:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._gone is not None:
                raise _again(self._gone)
            self._submitted.append(future)
            self._unsettled.add(future)
            self._ring()

    def cancel(self, future: JobFuture[Any]) -> None:
        with self._lock:
            self._cancelled.append(future)
            self._ring()
            self._lock.notify_all()

    def watch(self, future: JobFuture[Any] | None, name: str, callback: EventCallback) -> None:
        """None: every future that is submitted from now on. Raises RuntimeError when nobody listens any more."""
        with self._lock:
            if self._gone is not None:
                raise RuntimeError(f"there are no more events to come: {self._gone}")
            self._watched.append((future, name, callback))
            self._ring()

    def wait_for_id(self, future: JobFuture[Any], timeout: float | None) -> None:
        with self._lock:
            self._lock.wait_for(lambda: future.id is not None or future.done(), timeout)

    def unsettled(self) -> Group:
        with self._lock:
            return list(self._unsettled)

    def close(self) -> None:
        """Harmless when repeated. Futures that were submitted are still seen to."""
        with self._lock:
            self._closing = True
            self._ring()

    def join(self) -> None:
        self._thread.join()

    def _ring(self) -> None:
        """A full pipe has rung already; after the thread's end there is none."""
        if self._bell_w >= 0:
            try:
                os.write(self._bell_w, b"!")
            except BlockingIOError:
                return

    # -- the thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        error: FluxlikeError = Disconnected("this executor was shut down")
        try:
            self._serve()
        except FluxlikeError as reason:
            error = reason
        except Exception as reason:  # a defect here must not leave futures that never end
            log.exception("the executor's thread failed")
            error = FluxlikeError(f"the executor's thread failed: {reason!r}")
        finally:
            self._client.close()
            self._hang_up(error)

    def _serve(self) -> None:
        poll = select.poll()
        for fd in (self._client.fileno(), self._bell_r):
            poll.register(fd, select.POLLIN)
        while self._take_wishes():
            self._send()
            message = self._client.receive(timeout=0)
            if message is None:
                poll.poll()
            while message is not None:
                self._take(message)
                message = self._client.receive(timeout=0)

    def _hang_up(self, error: FluxlikeError) -> None:
        with self._lock:
            self._gone = error
            os.close(self._bell_r)
            os.close(self._bell_w)
            self._bell_w = -1
            left, self._unsettled = self._unsettled, set()
        for future in left:
            reason = _again(error)
            if future.id is not None:
                reason.add_note(f"job {encode_f58(future.id)} does not depend on this program, and goes on")
            future.fail(reason)
        with self._lock:
            self._lock.notify_all()

    def _take_wishes(self) -> bool:
        """False: there is nothing more to do, ever."""
        with self._lock:
            submitted, self._submitted = self._submitted, []
            cancelled, self._cancelled = self._cancelled, []
            watched, self._watched = self._watched, []
            if self._closing and not self._unsettled:
                return False
            with suppress(BlockingIOError):  # nobody rang
                os.read(self._bell_r, 65536)
        for future, name, callback in watched:
            self._events.watch(future, name, callback)
        self._queue.extend(submitted)
        # Without an id it is in the queue or on its way, and is looked at when its turn or its id comes.
        self._unwanted += [future for future in cancelled if future.id is not None]
        return True

    def _settle(self, future: JobFuture[Any]) -> None:
        """There is nothing more to be done for it."""
        if future.id is not None:
            self._jobs.pop(future.id, None)
        self._events.forget(future)
        with self._lock:
            self._unsettled.discard(future)
            self._lock.notify_all()

    def _fail(self, group: Group, error: FluxlikeError) -> None:
        for future in group:
            future.fail(_again(error))
            self._settle(future)

    # -- asking ---------------------------------------------------------------------------------------------

    def ask(self, payload: Payload, then: Callable[[Message], None], *, rank: int = ANY, stream: bool = False) -> None:
        """`then` gets every answer, errors included; of a stream, also the mark of its end."""
        self._expected[self._client.post(payload, rank=rank, stream=stream)] = then

    def _take(self, message: Message) -> None:
        then = self._expected.get(message.matchtag)
        if is_last(message):
            self._expected.pop(message.matchtag, None)
        if then is not None:
            then(message)

    def _send(self) -> None:
        while self._queue and self._messages_out < ON_THEIR_WAY:
            self._submit(*self._next_bundle())
        if self._unwanted:
            group, self._unwanted = self._unwanted, []
            ids = [future.id for future in group if future.id is not None]
            self.ask(requests.exception(ids, "cancel", 0, "its future was cancelled"), partial(self._on_cancel, group))

    def _next_bundle(self) -> tuple[Group, Bundle]:
        """As many from the front as fit into one message."""
        bundle, group = Bundle(), []
        terms = (self._queue[0].work.urgency, self._queue[0].work.flags)
        while self._queue and (self._queue[0].work.urgency, self._queue[0].work.flags) == terms:
            future = self._queue[0]
            try:
                if future.cancelled():
                    self._settle(future)
                    self._queue.popleft()
                    continue
                if not bundle.add(future.work.jobspec, future.work.cc):
                    break
            except InvalidRequest as error:
                self._fail([future], error)
            else:
                group.append(future)
            self._queue.popleft()
        return group, bundle

    def _submit(self, group: Group, bundle: Bundle) -> None:
        if not group:
            return
        message = bundle.message(group[0].work.urgency, group[0].work.flags)
        for future in group:
            self._events.sent(future)
        try:
            self.ask(message, partial(self._on_submitted, group, bundle))
        except InvalidRequest as error:
            self._fail(group, error)
        else:
            self._messages_out += 1

    # -- answers --------------------------------------------------------------------------------------------

    def _on_submitted(self, group: Group, bundle: Bundle, message: Message) -> None:
        self._messages_out -= 1
        try:
            ids = read_reply(message, Submitted).ids
        except (InvalidRequest, Unsatisfiable) as error:
            self._refused(group, bundle, error)
        except FluxlikeError as error:
            self._fail(group, error)
        else:
            self._accepted(group, ids)
        self._events.answered()

    def _refused(self, group: Group, bundle: Bundle, error: FluxlikeError) -> None:
        """For the sake of one job the whole message was. The others are to be accepted: try with half of the kinds."""
        if len(bundle.specs) == 1:
            self._fail(group, error)
            return
        middle = len(bundle.specs) // 2
        for wanted in (True, False):
            part = [future for future, row in zip(group, bundle.rows, strict=True) if (row[0] < middle) is wanted]
            again = Bundle()
            for future in part:
                again.add(future.work.jobspec, future.work.cc)
            self._submit(part, again)

    def _accepted(self, group: Group, ids: list[int]) -> None:
        for future, job_id in zip(group, ids, strict=True):
            future.id = job_id
            self._jobs[job_id] = future
            if future.cancelled():
                self._unwanted.append(future)
        with self._lock:
            self._lock.notify_all()
        self.ask(requests.wait(ids), partial(self._on_ends, group), stream=True)
        for future in group:
            self._events.known(future)
            if future.work.payload:
                self._calls.feed(future)

    def _on_ends(self, group: Group, message: Message) -> None:
        if is_end(message):
            return
        try:
            ended = requests.records(read_reply(message, JobEnds))
        except FluxlikeError as error:
            self._fail([future for future in group if future.id in self._jobs], error)
            return
        watched: list[JobRecord] = []
        others: list[JobRecord] = []
        for record in ended:
            (watched if self._events.concerns(self._jobs.get(record.id)) else others).append(record)
        if watched:
            # Events of before may still be under way. They have been sent when this is answered.
            self.ask(Ping(), lambda _: self._finish(watched), rank=0)
        self._finish(others)

    def _finish(self, ended: list[JobRecord]) -> None:
        for record in ended:
            future = self._jobs.pop(record.id, None)
            if future is None:
                continue
            if future.work.is_call and not future.cancelled():
                self._calls.fetch(future, record)
            else:
                future.succeed(record)
                self._settle(future)

    def _on_cancel(self, group: Group, message: Message) -> None:
        """Who was refused has ended by itself: a cancelled future has no more to ask."""
        for future in group:
            self._settle(future)


def _again(error: FluxlikeError) -> FluxlikeError:
    """A new one for each future: an exception that is raised twice gathers the tracebacks of both."""
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    copy.args = error.args
    copy.__cause__ = error.__cause__
    return copy
