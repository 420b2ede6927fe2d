"""The start of one job on this node: its directory, its streams, then one process per task."""

from __future__ import annotations

import os

from fluxlike_executor.directory import JobDirectories
from fluxlike_executor.environment import Environment, job_environment, render_values, set_task, tags_of
from fluxlike_executor.instance import Instance
from fluxlike_executor.job import Job
from fluxlike_executor.plumbing import JobStreams, Plumbing
from fluxlike_executor.spawn import NOT_POSSIBLE, Spawner, StartError, refusal
from fluxlike_executor.spec import Spec, encoded
from fluxlike_executor.templates import render, task_tags


class Launcher:
    __slots__ = ("_cwd", "_directories", "_plumbing", "_spawner")

    def __init__(self, plumbing: Plumbing, directories: JobDirectories) -> None:
        self._plumbing = plumbing
        self._directories = directories
        self._spawner = Spawner()
        self._cwd = "/"
        os.chdir("/")

    def leave(self) -> None:
        """Back to a directory that nobody wants to unmount or remove. Due soon after the last launch."""
        if self._cwd != "/":
            os.chdir("/")
            self._cwd = "/"

    def launch(self, job: Job, instance: Instance) -> None:
        """Raises StartError; tasks that were spawned before it are in `job.pids` and still to be ended."""
        try:
            self._prepare(job, instance)
        except StartError as error:
            text = f"task {job.first + len(job.pids)} (host {instance.host}): {error.text}"
            raise StartError(error.status, _readable(text)) from None

    def _prepare(self, job: Job, instance: Instance) -> None:
        spec = job.spec
        if spec is None:
            raise StartError(NOT_POSSIBLE, f"the start message lacks the spec {job.digest}")
        if not job.transient:
            job.directory = self._make_directory(instance)
        if spec.cwd != self._cwd:
            self._enter(spec.cwd)
        tags = tags_of(job, spec, instance) if spec.tagged else {}
        streams = JobStreams(self._plumbing, job, spec, tags)
        try:
            self._spawn_all(job, spec, job_environment(job, spec, instance), tags, streams)
        finally:
            streams.complete()

    def _make_directory(self, instance: Instance) -> str:
        try:
            return self._directories.make(instance.tmpdir)
        except (OSError, ValueError) as error:
            raise refusal(error, f"job directory in {instance.tmpdir}") from None

    def _enter(self, cwd: str) -> None:
        try:
            os.chdir(encoded(cwd))
        except (OSError, ValueError) as error:
            raise refusal(error, f"working directory {cwd}") from None
        self._cwd = cwd

    def _spawn_all(
        self, job: Job, spec: Spec, environment: Environment, tags: dict[str, str], streams: JobStreams
    ) -> None:
        argv = spec.command
        for index in range(job.count):
            set_task(environment, job, index)
            if spec.tagged:
                tags.update(task_tags(job.first + index, index))
                render_values(environment, spec, tags)
                argv = _arguments(spec, tags)
            fds = streams.for_task(index)
            job.pids.append(self._spawner.start(spec, argv, environment, fds))
            streams.spawned()


def _readable(text: str) -> str:
    """Names of files may hold any bytes; what is told to people holds text."""
    return encoded(text).decode("utf-8", "replace")


def _arguments(spec: Spec, tags: dict[str, str]) -> list[bytes]:
    argv = spec.command.copy()
    for at, word in spec.command_tags.items():
        argv[at] = encoded(render(word, tags))
    return argv
