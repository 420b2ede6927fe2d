"""What a task's descriptors 0, 1 and 2 lead to: nothing, a pipe to the executor, or a file."""

from __future__ import annotations

import os

from fluxlike_executor.files import OutputFiles, open_input
from fluxlike_executor.job import Job
from fluxlike_executor.loop import Loop
from fluxlike_executor.pipes import CapturedPipe, InputPipe, LabelledPipe, Outbox
from fluxlike_executor.spawn import NO_INPUT, refusal
from fluxlike_executor.spec import Spec
from fluxlike_executor.templates import render


class Plumbing:
    """The executor's side of all jobs' streams."""

    __slots__ = ("loop", "outbox")

    def __init__(self, loop: Loop, outbox: Outbox) -> None:
        self.loop = loop
        self.outbox = outbox


class JobStreams:
    """Makes the streams of one job's tasks. The executor's ends go into the job; the tasks' ends are handed out,
    and closed here after each spawn."""

    __slots__ = ("_common", "_files", "_given", "_job", "_spec", "_tags")

    def __init__(self, common: Plumbing, job: Job, spec: Spec, tags: dict[str, str]) -> None:
        self._common = common
        self._job = job
        self._spec = spec
        self._tags = tags
        self._files: OutputFiles | None = None
        self._given: list[int] = []

    def for_task(self, index: int) -> tuple[int, int, int]:
        """Raises StartError, naming the file that could not be opened."""
        spec = self._spec
        stdin = self._stdin(index) if spec.stdin != "null" else NO_INPUT
        rank = self._job.first + index
        stdout = self._stream(rank, "stdout", spec.stdout, spec.stdout_spread)
        stderr = self._stream(rank, "stderr", spec.stderr, spec.stderr_spread)
        return stdin, stdout, stderr

    def spawned(self) -> None:
        """The task has its own copies now, or will never need them."""
        for fd in self._given:
            os.close(fd)
        self._given.clear()

    def complete(self) -> None:
        """All tasks have been spawned, or one could not be."""
        if self._given:
            self.spawned()
        if self._files is None:
            return
        files = self._files.release()
        if self._spec.label:
            self._job.files = files
            return
        for fd in files:
            os.close(fd)

    def _stdin(self, index: int) -> int:
        if self._spec.stdin != "pipe":
            path = render(self._spec.stdin, self._tags)
            try:
                fd = open_input(path)
            except (OSError, ValueError) as error:
                raise refusal(error, path) from None
            self._given.append(fd)
            return fd
        read, write = self._pipe()
        self._given.append(read)
        if self._job.inputs is None:
            self._job.inputs = {}
        self._job.inputs[index] = InputPipe(self._common.loop, write)
        return read

    def _stream(self, rank: int, stream: str, template: str, spread: bool) -> int:
        common, job = self._common, self._job
        if not template:
            read, write = self._pipe()
            self._given.append(write)
            job.outputs.append(CapturedPipe(common.loop, read, job, rank, stream, common.outbox))
            return write
        path = render(template, self._tags)
        file = self._file(path, spread)
        if not self._spec.label:
            return file
        read, write = self._pipe()
        self._given.append(write)
        job.outputs.append(LabelledPipe(common.loop, read, job, rank, file, path))
        return write

    def _file(self, path: str, spread: bool) -> int:
        # Nodes may share the file. Then only the first may empty it, or each wipes out what another wrote.
        append = self._spec.append or not (spread or self._job.node == 0)
        if self._files is None:
            self._files = OutputFiles()
        try:
            return self._files.open(path, append)
        except (OSError, ValueError) as error:
            raise refusal(error, path) from None

    def _pipe(self) -> tuple[int, int]:
        try:
            return os.pipe()
        except OSError as error:
            raise refusal(error, "pipe") from None
