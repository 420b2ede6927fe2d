"""Staying with one job: its output here, our input and signals there, its exit code at the end."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from signal import SIGALRM, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, Signals
from typing import TYPE_CHECKING

from fluxlike.client.core import read_reply
from fluxlike.client.requests import EventPoll, OutputPoll
from fluxlike.protocol.jobs import (
    JobEventsReply,
    JobKill,
    JobRaise,
    JobStdin,
    JobsTouched,
    OutputReadReply,
)
from fluxlike_cli.errors import INTERRUPTED, complain
from fluxlike_cli.inbox import SignalInbox
from fluxlike_cli.output.ids import id_text
from fluxlike_cli.output.status import StatusLine
from fluxlike_cli.output.streams import StreamWriter
from fluxlike_cli.story import Story

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import Event
    from fluxlike.protocol.message import Message
    from fluxlike_cli.output.eventlog import EventFormatter

FORWARDED = (SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2)
ENDING = (SIGTERM, SIGHUP)
"""What ends `run` ends its job too, even while there is no task yet to send it to."""

TWICE = 2.0
"""Seconds in which a second Ctrl-C means it."""

STDIN = 0
STDIN_CHUNK = 65536


def attach(
    client: Client,
    job_id: int,
    *,
    label: bool = False,
    unbuffered: bool = False,
    stdin: bool = True,
    show_exceptions: bool = True,
    show_events: bool = False,
    read_only: bool = False,
    ntasks: int = 0,
    stdin_tasks: Sequence[int] = (),
) -> int:
    """Follow the job until it is inactive and all of its output is written; gives its exit code.

    128+n stands for a death by signal n; a job that an exception ended gives at least 1. Ctrl-C twice cancels
    the job, Ctrl-C and Ctrl-Z leaves it alone (0). `read_only`: no input, and signals are not the job's.
    `ntasks`, if known, saves asking for it; `stdin_tasks` limits who gets the input."""
    if not (ntasks or label or unbuffered):
        ntasks = client.job(job_id).ntasks
    view = View(job_id, label, unbuffered or ntasks == 1, show_exceptions, show_events)
    with ExitStack() as stack:
        inbox = None if read_only else stack.enter_context(SignalInbox((SIGINT, *FORWARDED)))
        stack.callback(view.close)
        return Attachment(client, job_id, view, inbox, stdin and not read_only, stdin_tasks).run()


class View:
    """What the user sees of the job."""

    def __init__(self, job_id: int, label: bool, raw: bool, exceptions: bool, events: bool) -> None:
        self.name = id_text(job_id)
        self.status = StatusLine(self.name)
        self._label = label
        self._exceptions = exceptions
        self._writers = {
            "stdout": StreamWriter(sys.stdout.buffer, raw=raw),
            "stderr": StreamWriter(sys.stderr.buffer, raw=raw),
        }
        self._formatter: EventFormatter | None = None
        if events:
            from fluxlike_cli.output.eventlog import EventFormatter

            self._formatter = EventFormatter(times="offset")

    def output(self, task: int, stream: str, data: bytes) -> None:
        self.status.stop()
        source = str(task)
        self._writers[stream].write(source, data, source if self._label else "")

    def flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def event(self, event: Event) -> None:
        self.status.hide()
        context = event.context
        if self._formatter is not None:
            sys.stderr.write(self._formatter.line(event.timestamp, event.name, context) + "\n")
            sys.stderr.flush()
        if event.name == "exception" and self._exceptions:
            severity = "" if context.get("severity") == 0 else f" (severity {context.get('severity')})"
            note = f": {context['note']}" if context.get("note") else ""
            self.say(f"{context.get('type')}{severity}{note}")

    def say(self, text: str) -> None:
        self.status.hide()
        self.flush()
        complain(f"{self.name}: {text}")

    def close(self) -> None:
        self.status.stop()
        for writer in self._writers.values():
            writer.close()


class Attachment:
    """The loop between the broker, standard input and signals."""

    def __init__(
        self,
        client: Client,
        job_id: int,
        view: View,
        inbox: SignalInbox | None,
        stdin: bool,
        stdin_tasks: Sequence[int],
    ) -> None:
        self._client = client
        self._id = job_id
        self._view = view
        self._inbox = inbox
        self._story = Story()
        self._events = EventPoll(job_id, 0, follow=True)
        self._output = OutputPoll(job_id, follow=True)
        self._handlers: dict[int, Callable[[Message], None]] = {}
        self._stdin_open = stdin and _may_read_stdin()
        self._stdin_busy = False
        self._stdin_tasks = list(stdin_tasks)
        self._interrupted_at = -TWICE
        self._early: list[int] = []
        """Signals for tasks whose start we have not heard of; their output may be here before that."""
        self._cancelled = False
        self._left: int | None = None

    def run(self) -> int:
        self._ask_events()
        self._ask_output()
        while self._left is None and not (self._events.done and self._output.done):
            # First what the client has read already: no descriptor tells of that.
            if not self._answers():
                self._wait()
        return self._story.exit_code if self._left is None else self._left

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._client.fileno(), select.POLLIN)
        if self._inbox is not None:
            poll.register(self._inbox.fileno(), select.POLLIN)
        # One piece of input at a time: its answer is the flow control.
        if self._stdin_open and self._story.running and not self._stdin_busy:
            poll.register(STDIN, select.POLLIN)
        waiting = not self._story.running
        period = self._view.status.period if waiting else None
        ready = poll.poll(None if period is None else period * 1000)
        if waiting and not ready:
            self._view.status.show(self._story.waits_for)
        for descriptor, _ in ready:
            if descriptor == STDIN:
                self._send_input()
            elif self._inbox is not None and descriptor == self._inbox.fileno():
                for signum in self._inbox.take():
                    self._on_signal(signum)

    def _answers(self) -> bool:
        """Handle what the broker has sent; False if there was nothing."""
        message = self._client.receive(timeout=0)
        if message is None:
            return False
        while message is not None:
            handler = self._handlers.pop(message.matchtag, None)
            if handler is not None:
                handler(message)
            message = self._client.receive(timeout=0)
        self._view.flush()
        return True

    def _ask_events(self) -> None:
        self._handlers[self._client.post(self._events.request())] = self._on_events

    def _ask_output(self) -> None:
        self._handlers[self._client.post(self._output.request())] = self._on_output

    def _on_events(self, message: Message) -> None:
        events = self._events.accept(read_reply(message, JobEventsReply))
        for event in events:
            self._story.add(event.name, event.context)
            self._view.event(event)
        if self._story.running:
            self._view.status.stop()
            self._pass_on()
        if not self._events.done:
            self._ask_events()

    def _on_output(self, message: Message) -> None:
        chunks = self._output.accept(read_reply(message, OutputReadReply))
        # Asked before writing: the broker reads on while our reader takes its time, one answer ahead at most.
        if not self._output.done:
            self._ask_output()
        for chunk in chunks:
            self._view.output(chunk.task, chunk.stream, chunk.data)

    def _send_input(self) -> None:
        try:
            data = os.read(STDIN, STDIN_CHUNK)
        except OSError:
            data = b""  # closed, or a terminal that is not ours any more
        request = JobStdin(id=self._id, data=data, tasks=self._stdin_tasks, eof=not data)
        self._handlers[self._client.post(request)] = self._on_input_taken
        self._stdin_busy = True
        self._stdin_open = bool(data)

    def _on_input_taken(self, message: Message) -> None:
        self._stdin_busy = False
        failure = message.failure()
        if failure is not None:
            # The end of input, or a job that has just ended, needs no input: nothing to tell anybody.
            if self._stdin_open and self._story.running:
                self._view.say(f"input is not taken: {failure}")
            self._stdin_open = False

    def _on_signal(self, signum: int) -> None:
        if signum == SIGINT:
            self._on_interrupt()
        elif signum == SIGTSTP:
            self._on_stop()
        elif signum in ENDING and not self._story.running:
            self._cancel(f"{Signals(signum).name} before it was started")
        else:
            self._early.append(signum)
            if self._story.running:
                self._pass_on()

    def _pass_on(self) -> None:
        for signum in self._early:
            self._ask_touch(JobKill(ids=[self._id], signum=signum))
        self._early.clear()

    def _on_interrupt(self) -> None:
        assert self._inbox is not None
        if self._cancelled:
            self._left = INTERRUPTED
        elif time.monotonic() - self._interrupted_at < TWICE:
            self._cancel("interrupted by ctrl-C")
        else:
            self._interrupted_at = time.monotonic()
            self._inbox.watch(SIGTSTP)
            self._view.say(f"Ctrl-C again within {TWICE:g} s cancels the job, Ctrl-Z leaves it running")

    def _on_stop(self) -> None:
        """Ctrl-Z: soon after a Ctrl-C it means to leave, otherwise what it always means."""
        assert self._inbox is not None
        if time.monotonic() - self._interrupted_at < TWICE:
            self._view.say(f"left alone; `fluxlike job attach {self._view.name}` comes back to it")
            self._left = 0
            return
        self._inbox.unwatch(SIGTSTP)
        os.kill(os.getpid(), SIGTSTP)

    def _cancel(self, note: str) -> None:
        self._cancelled = True
        self._ask_touch(JobRaise(ids=[self._id], type="cancel", severity=0, note=note))

    def _ask_touch(self, request: JobKill | JobRaise) -> None:
        self._handlers[self._client.post(request)] = self._on_touched

    def _on_touched(self, message: Message) -> None:
        for _, _, text in read_reply(message, JobsTouched).errors:
            self._view.say(text)


def _may_read_stdin() -> bool:
    """Whether reading would not stop us: a background process that reads its terminal is stopped."""
    with suppress(OSError):
        return os.tcgetpgrp(STDIN) == os.getpgrp()
    return True  # no terminal
