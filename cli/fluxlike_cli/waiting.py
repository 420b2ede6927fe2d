"""Staying with many jobs: until they end, until an event, or with all of their output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fluxlike.client.core import is_end, read_reply
from fluxlike.client.requests import EventPoll, OutputPoll, records
from fluxlike.errors import NotFound, TimedOut
from fluxlike.protocol.jobs import JobEnds, JobEventsReply, JobWait, OutputReadReply
from fluxlike_cli.errors import complain
from fluxlike_cli.outcome import exit_code, outcome
from fluxlike_cli.output.ids import id_text
from fluxlike_cli.output.streams import StreamWriter

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import JobRecord
    from fluxlike.protocol.message import Message
    from fluxlike_cli.commands.deadline import Deadline
    from fluxlike_cli.output.progress import Progress

AT_ONCE = 64
"""Jobs that are asked about at the same time; output of later ones waits in the instance's spool."""


WAITED_FOR_AT_ONCE = 10_000
"""Ids in one request; more of them are several requests, all open at the same time."""


def post_waits(client: Client, ids: Sequence[int]) -> set[int]:
    """Ask to be told of the ends of these jobs, each named once; gives the tags of the answers."""
    return {
        client.post(JobWait(ids=list(ids[start : start + WAITED_FOR_AT_ONCE])), stream=True)
        for start in range(0, len(ids), WAITED_FOR_AT_ONCE)
    }


def ends(client: Client, ids: Sequence[int], deadline: Deadline | None = None) -> Iterator[JobRecord]:
    """The jobs as they end, however many they are. Raises TimedOut."""
    open_tags = post_waits(client, list(dict.fromkeys(ids)))
    while open_tags:
        message = client.receive(None if deadline is None else deadline.remaining())
        if message is None:
            raise TimedOut("jobs have not ended in time")
        if is_end(message):
            open_tags.discard(message.matchtag)
        else:
            yield from records(read_reply(message, JobEnds))


def wait(client: Client, ids: Sequence[int], *, quiet: bool = False, bar: Progress | None = None) -> int:
    """Wait until all have ended; gives the highest exit code. Failures are told on standard error."""
    highest = 0
    for record in ends(client, ids):
        highest = max(highest, settle(record, quiet, bar))
    return highest


def settle(record: JobRecord, quiet: bool, bar: Progress | None = None) -> int:
    """The exit code of a job that has ended; a failure is told."""
    if bar is not None:
        bar.hide()
        bar.advance(1, int(not record.succeeded))
    if not (quiet or record.succeeded):
        complain(f"{id_text(record.id)}: {outcome(record)}")
    return exit_code(record)


def wait_event(client: Client, ids: Sequence[int], name: str) -> None:
    """Wait until each job has had the event. NotFound for the first that ended without it."""
    for job_id in ids:
        # One after the other: an event that has come stays, so the last one to get it decides anyway.
        poll = EventPoll(job_id, 0, follow=True)
        seen = False
        while not seen:
            if poll.done:
                raise NotFound(f"{id_text(job_id)} has ended without {name}")
            events = poll.accept(client.call(poll.request(), JobEventsReply))
            seen = any(event.name == name for event in events)


def watch(
    client: Client,
    ids: Sequence[int],
    outputs: Sequence[tuple[int, str]],
    *,
    label: bool = False,
    quiet: bool = False,
    raw: bool = False,
    bar: Progress | None = None,
) -> int:
    """Write the output of all jobs here until all have ended; gives the highest exit code.

    `outputs`: (id, name) of all whose output it is, jobs or tasks of arrays. With several each line begins with the
    name; with `label` the task's number follows."""
    return Watch(client, ids, outputs, label, quiet, raw, bar).run() if ids else 0


class Watch:
    def __init__(
        self,
        client: Client,
        ids: Sequence[int],
        outputs: Sequence[tuple[int, str]],
        label: bool,
        quiet: bool,
        raw: bool,
        bar: Progress | None,
    ) -> None:
        self._client = client
        self._bar = bar
        self._ids = list(dict.fromkeys(ids))
        self._outputs = list(dict.fromkeys(outputs))
        self._several = len(self._outputs) > 1
        self._label = label
        self._quiet = quiet
        raw = raw and not self._several
        self._writers = {
            "stdout": StreamWriter(sys.stdout.buffer, raw=raw),
            "stderr": StreamWriter(sys.stderr.buffer, raw=raw),
        }
        self._polls: dict[int, tuple[str, OutputPoll]] = {}
        self._highest = 0

    def run(self) -> int:
        waiting = iter(self._outputs)
        for _ in range(AT_ONCE):
            self._begin(waiting)
        ends = post_waits(self._client, self._ids)
        try:
            while self._polls or ends:
                message = self._client.receive()
                assert message is not None  # no timeout was given
                if message.matchtag in ends:
                    if self._on_ends(message):
                        ends.discard(message.matchtag)
                elif self._on_output(message):
                    self._begin(waiting)
        finally:
            for writer in self._writers.values():
                writer.close()
        return self._highest

    def _begin(self, waiting: Iterator[tuple[int, str]]) -> None:
        for job_id, name in waiting:
            self._ask(name, OutputPoll(job_id, follow=True))
            return

    def _ask(self, name: str, poll: OutputPoll) -> None:
        self._polls[self._client.post(poll.request())] = (name, poll)

    def _on_output(self, message: Message) -> bool:
        """True when this was the last of the job's output."""
        name, poll = self._polls.pop(message.matchtag)
        chunks = poll.accept(read_reply(message, OutputReadReply))
        if not poll.done:
            self._ask(name, poll)
        if chunks and self._bar is not None:
            self._bar.hide()
        for chunk in chunks:
            labels = [name] * self._several + [str(chunk.task)] * self._label
            source = f"{name} {chunk.task}"
            self._writers[chunk.stream].write(source, chunk.data, ": ".join(labels))
        for writer in self._writers.values():
            writer.flush()
        return poll.done

    def _on_ends(self, message: Message) -> bool:
        """True when all jobs of the request have ended."""
        if is_end(message):
            return True
        for record in records(read_reply(message, JobEnds)):
            self._highest = max(self._highest, settle(record, self._quiet, self._bar))
        return False
