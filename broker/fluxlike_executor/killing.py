"""Signals to the tasks of a job, and the kill sequence: a signal now, SIGKILL later, repeated with growing waits."""

from __future__ import annotations

import os
import signal
from functools import partial

from fluxlike_executor.job import Job
from fluxlike_executor.loop import Loop

LONGEST_WAIT = 300.0
SHORTEST_WAIT = 0.1
"""Seconds between two SIGKILLs. One is enough unless the process hangs in the kernel; more only cost."""


def next_wait(wait: float) -> float:
    return min(max(2 * wait, SHORTEST_WAIT), LONGEST_WAIT)


def signal_group(group: int, signum: int) -> bool:
    """False when there is nobody left (or nobody we may signal): which is fine with every caller."""
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def signal_orphaned_group(group: int, signum: int) -> None:
    """For a group whose leader was reaped some time ago. Its number stays taken while the group has members: if a
    process carries it now, that is a stranger, and the group is gone."""
    try:
        os.kill(group, 0)
    except ProcessLookupError:
        signal_group(group, signum)
    except PermissionError:
        return


def signal_job(job: Job, signum: int) -> None:
    """To the process groups of all its tasks, those that outlived their task included."""
    for pid in job.pids:
        if pid:
            signal_group(pid, signum)
    for group in job.leftovers:
        signal_orphaned_group(group, signum)


class KillSequence:
    """One per executor. A job's sequence ends with the job (its timer is cancelled there)."""

    __slots__ = ("_loop",)

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def begin(self, job: Job, signum: int, wait: float) -> None:
        """Asked for again, the signal is sent again, but the SIGKILL that is on its way is not put off."""
        signal_job(job, signum)
        if job.kill_timer is None:
            self._arm(job, wait)

    def _arm(self, job: Job, wait: float) -> None:
        job.kill_timer = self._loop.after(wait, partial(self._again, job, wait))

    def _again(self, job: Job, wait: float) -> None:
        signal_job(job, signal.SIGKILL)
        self._arm(job, next_wait(wait))
