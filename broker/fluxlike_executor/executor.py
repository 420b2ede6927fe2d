"""The life of jobs on this node: queued, launched, reaped, drained, reported, forgotten. Knows no socket."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator
from typing import Any

from fluxlike_executor.clock import monotonic, wall
from fluxlike_executor.directory import JobDirectories
from fluxlike_executor.instance import Instance
from fluxlike_executor.job import Job, Key, State, check_row
from fluxlike_executor.killing import KillSequence, signal_group, signal_job, signal_orphaned_group
from fluxlike_executor.launch import Launcher
from fluxlike_executor.loop import Loop
from fluxlike_executor.pipes import Outbox
from fluxlike_executor.plumbing import Plumbing
from fluxlike_executor.results import ResultLog
from fluxlike_executor.spawn import StartError
from fluxlike_executor.spec import SpecCache
from fluxlike_executor.strays import Strays, kill_tasks_under
from fluxlike_executor.watching import Watching, watch

LINGER = 0.1
"""Seconds after the last launch until nothing is kept for another: empty directories, the working directory."""

LAUNCHING = 0.005
"""Seconds of launching at a stretch. In between the loop reads, reaps and answers: many starts must not deafen it."""


class Executor:
    def __init__(self, loop: Loop, instance: Instance, *, heir: bool = False) -> None:
        """`heir`: the one before was killed, and may have left tasks and directories of jobs."""
        self.instance = instance
        self._heir = heir
        self.jobs: dict[Key, Job] = {}
        """Until their finish and all their output are acknowledged."""
        self.results = ResultLog()
        self.outbox = Outbox()
        self._loop = loop
        self._specs = SpecCache()
        self._queue: deque[Job] = deque()
        self._tasks: dict[int, tuple[Job, int]] = {}
        self._directories = JobDirectories()
        self._launcher = Launcher(Plumbing(loop, self.outbox), self._directories)
        self._kills = KillSequence(loop)
        self._strays = Strays(loop, self._tasks, self._directories.settle)
        self._watching = Watching(loop)
        self._launched = False
        """Since the last tidying."""
        self._tidying = False

    # What the broker asks for

    def introduce(self, instance: Instance) -> None:
        """Each broker's own word counts from here on, also for jobs that an earlier one started."""
        self.instance = instance
        self._strays.uri = instance.uri_bytes
        if self._heir:
            self._heir = False
            kill_tasks_under(instance.uri_bytes)
            self._directories.remove_all(instance.tmpdir)

    def start(self, specs: dict[Any, Any], rows: list[Any]) -> None:
        """A job that is known in this attempt is left as it is. Raises ProtocolError before any is started."""
        self._specs.learn(specs)
        for row in rows:
            check_row(row)
        for row in rows:
            key = (row[0], row[1])
            if key not in self.jobs:
                job = self.jobs[key] = Job(row, self._specs.get(row[2]))
                self._queue.append(job)

    def signal(self, rows: list[tuple[int, int, int]]) -> None:
        for job, signum in self._present(rows):
            signal_job(job, signum)

    def kill(self, rows: list[tuple[int, int, int]]) -> None:
        for job, signum in self._present(rows):
            self._kills.begin(job, signum, self.instance.kill_timeout)

    def stdin(self, number: int, attempt: int, tasks: list[int], data: bytes, eof: bool) -> None:
        """To the tasks with these ranks, or to all of them. Of no effect on a job that takes no input."""
        for job, _ in self._present([(number, attempt, 0)]):
            for index, pipe in (job.inputs or {}).items():
                if not tasks or job.first + index in tasks:
                    pipe.write(data, eof)

    def output_ack(self, rows: list[tuple[int, int, int]]) -> None:
        for number, attempt, offset in rows:
            job = self.jobs.get((number, attempt))
            if job is not None and job.window.ack(offset):
                self._room_made(job)

    def ack(self, sequence: int) -> None:
        for key in self.results.ack(sequence):
            job = self.jobs[key]
            job.settled = True
            self._forget_if_settled(job)

    def drop_transients(self) -> None:
        """Their connection is gone: nobody wants to know any more."""
        for job in [job for job in self.jobs.values() if job.transient]:
            job.settled = True
            signal_job(job, signal.SIGKILL)
            if not job.alive:
                self._tasks_gone(job)

    def _present(self, rows: list[tuple[int, int, int]]) -> Iterator[tuple[Job, int]]:
        """Jobs with tasks, and the third field. One that still waits for its launch is launched first: what was
        sent after its start is to reach it."""
        for number, attempt, field in rows:
            job = self.jobs.get((number, attempt))
            if job is not None and job.state is State.QUEUED:
                self._launch(job, monotonic())
            if job is not None and job.state is State.RUNNING:
                yield job, field

    # What it is asked to tell

    def held(self) -> list[list[Any]]:
        """A row of `welcome` for each job that is not forgotten, transients left out."""
        jobs = [job for job in self.jobs.values() if not job.transient]
        return [[j.id, j.attempt, "finished" if j.state is State.FINISHED else "running"] for j in jobs]

    def kept_output(self) -> Iterator[list[Any]]:
        """Rows of all output that is not acknowledged, transients' left out."""
        for job in self.jobs.values():
            if not job.transient:
                for chunk in job.window.unacked():
                    yield [job.id, job.attempt, job.node, *chunk]

    # The loop's pass

    def each_pass(self) -> bool:
        """True: there is more to do at once."""
        if self._queue:
            self._launch_some()
        if self._directories.pending():
            self._directories.step()
        return bool(self._queue) or self._directories.pending()

    def _launch_some(self) -> None:
        now = monotonic()
        until = now + LAUNCHING
        while self._queue and now < until:
            job = self._queue.popleft()
            if job.state is State.QUEUED:
                self._launch(job, now)
            now = monotonic()

    def _launch(self, job: Job, now: float) -> None:
        job.state = State.RUNNING
        self._launched = True
        self._tidy_later()
        try:
            self._launcher.launch(job, self.instance)
        except StartError as error:
            job.error = error.text
            job.statuses[len(job.pids) :] = [error.status] * (job.count - len(job.pids))
            signal_job(job, signal.SIGKILL)
        else:
            self.results.started(job.id, job.attempt, wall(), job.pids.copy())
        for index, pid in enumerate(job.pids):
            self._tasks[pid] = (job, index)
        job.alive = len(job.pids)
        if not job.alive:
            self._tasks_gone(job)
            return
        self._watching.launched(job, now)

    def _tidy_later(self) -> None:
        if not self._tidying:
            self._tidying = True
            self._loop.after(LINGER, self._tidy)

    def _tidy(self) -> None:
        self._tidying = False
        if self._launched:
            self._launched = False
            self._tidy_later()
            return
        self._launcher.leave()
        self._directories.remove_spares()

    # The end of tasks and jobs

    def reap(self) -> bool:
        """Takes note of every child that has ended. False: there are no children at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            task = self._tasks.pop(pid, None)
            if task is None:
                self._strays.reaped(pid)
            else:
                self._task_gone(*task, pid, status)

    def _task_gone(self, job: Job, index: int, pid: int, status: int) -> None:
        job.pids[index] = 0
        job.statuses[index] = status
        job.alive -= 1
        if job.inputs is not None:
            job.inputs[index].close()
        if job.alive:
            if signal_group(pid, 0):
                job.leftovers.append(pid)
            return
        for group in job.leftovers:
            signal_orphaned_group(group, signal.SIGKILL)
        if signal_group(pid, signal.SIGKILL):
            job.leftovers.append(pid)
        self._tasks_gone(job)

    def _tasks_gone(self, job: Job) -> None:
        job.state = State.DRAINING
        if job.kill_timer is not None:
            job.kill_timer.cancel()
        self._strays.look()
        self._drain(job)

    def _drain(self, job: Job) -> None:
        if job.transient and job.settled:
            for pipe in job.outputs:
                pipe.close()
        if all([pipe.drain() for pipe in job.outputs]):
            self._finish(job)

    def _finish(self, job: Job) -> None:
        job.state = State.FINISHED
        for fd in job.files:
            os.close(fd)
        for pipe in (job.inputs or {}).values():
            pipe.close()
        job.outputs.clear()  # they point back at the job: a cycle would wait for the collector
        if job.directory:
            self._tidy_later()
            self._directories.release(job.directory, reusable=not job.leftovers)
        if not job.transient:
            self.results.finished(job.id, job.attempt, wall(), job.statuses, job.error)
            return
        del self.jobs[job.key]
        if not job.settled:
            self.results.finished(job.id, job.attempt, wall(), job.statuses, job.error)

    # The end of the executor

    def end_jobs(self, signum: int) -> None:
        """Jobs that were not launched yet end as if the signal had ended them."""
        while self._queue:
            job = self._queue.popleft()
            if job.state is State.QUEUED:
                job.statuses = [signum] * job.count
                self._tasks_gone(job)
        for job in self.jobs.values():
            if job.state is State.RUNNING:
                signal_job(job, signum)

    def draining(self) -> bool:
        return any(job.state is State.DRAINING for job in self.jobs.values())

    def close(self) -> None:
        """All tasks are gone. What is still in their pipes is given up; their directories are not left."""
        for job in list(self.jobs.values()):
            if job.state is State.DRAINING:
                for pipe in job.outputs:
                    pipe.close()
                self._finish(job)
        self._directories.complete()

    # Acknowledgements

    def _room_made(self, job: Job) -> None:
        if job.state is State.RUNNING:
            watch(job)
        elif job.state is State.DRAINING:
            self._drain(job)
        else:
            self._forget_if_settled(job)

    def _forget_if_settled(self, job: Job) -> None:
        if job.settled and job.state is State.FINISHED and job.window.acked == job.window.end:
            del self.jobs[job.key]
