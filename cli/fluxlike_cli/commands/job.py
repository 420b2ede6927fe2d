"""`fluxlike job`: one job at a time, in detail. `fluxlike jobs` lists many."""

from __future__ import annotations

import click

from fluxlike_cli.group import LazyGroup

CONTROL = "fluxlike_cli.commands.job_control"
INFO = "fluxlike_cli.commands.job_info"
WAIT = "fluxlike_cli.commands.job_wait"

COMMANDS = {
    "submit": (f"{CONTROL}:submit", "Submit a jobspec; print the job's id."),
    "resubmit": ("fluxlike_cli.commands.job_resubmit:resubmit", "Submit a job again, or what failed of an array."),
    "info": (f"{INFO}:info", "Print what the instance keeps about a job."),
    "eventlog": (f"{INFO}:eventlog", "Print a job's events, oldest first."),
    "attach": (f"{WAIT}:attach", "Follow a job's output; exit as it does."),
    "wait-event": (f"{WAIT}:wait_event", "Wait for one event of a job."),
    "wait": (f"{WAIT}:wait", "Wait until jobs have ended."),
    "status": (f"{WAIT}:status", "Wait until jobs have ended; exit with their code."),
    "kill": (f"{CONTROL}:kill", "Send a signal to a job's tasks."),
    "raise": (f"{CONTROL}:raise_", "Raise an exception on jobs."),
    "urgency": (f"{CONTROL}:urgency", "Change how urgent a waiting job is."),
    "id": (f"{INFO}:id_", "Print job ids in another encoding."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def job() -> None:
    """Look at single jobs and steer them.

    \b
    Examples:
      fluxlike job eventlog -H ƒuZZybuNNy      what happened to it, and when
      fluxlike job attach ƒuZZybuNNy           watch its output, feed its input
      fluxlike job kill -s USR1 ƒuZZybuNNy     signal its tasks

    An id may be given in any encoding: ƒuZZybuNNy, fuZZybuNNy, 6731191091817518, 0x17e9fb8df16c2e.
    """
