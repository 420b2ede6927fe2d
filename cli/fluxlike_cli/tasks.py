"""Staying with the tasks of an array: the output of one or of all, and how they end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fluxlike.client.requests import OutputPoll
from fluxlike.protocol.jobs import OutputReadReply
from fluxlike_cli import waiting
from fluxlike_cli.outcome import exit_code
from fluxlike_cli.output.streams import StreamWriter
from fluxlike_cli.targets import Target, outputs_of, task_as_job, task_of

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.client.results import JobRecord
    from fluxlike_cli.commands.deadline import Deadline


def attach_array(client: Client, job_id: int, tasks: int, label: bool) -> int:
    """The output of all tasks, each line with its task's name; gives the array's exit code."""
    return waiting.watch(client, [job_id], list(outputs_of(job_id, tasks)), label=label)


def attach_task(client: Client, target: Target, label: bool, raw: bool) -> int:
    """The output of one task; gives its exit code."""
    writers = {
        "stdout": StreamWriter(sys.stdout.buffer, raw=raw),
        "stderr": StreamWriter(sys.stderr.buffer, raw=raw),
    }
    try:
        for chunk in client.output(task_of(client, target).record["id"]):
            writers[chunk.stream].write(str(chunk.task), chunk.data, str(chunk.task) if label else "")
            writers[chunk.stream].flush()
    finally:
        for writer in writers.values():
            writer.close()
    return exit_code(task_as_job(task_of(client, target)))


def task_end(client: Client, target: Target, deadline: Deadline) -> JobRecord:
    """The task once it is over: its output ends then. Raises TimedOut."""
    record = task_of(client, target)
    poll = OutputPoll(record.record["id"], follow=True)
    while record.active and not poll.done:
        poll.accept(client.call(poll.request(), OutputReadReply, timeout=deadline.remaining()))
    return task_as_job(task_of(client, target))
