"""Dependencies: who waits for which job, and until when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from fluxlike.errors import FluxlikeError, InvalidJobspec, StoreUnavailable
from fluxlike.ids import decode, encode_f58
from fluxlike.job.dependencies import SCHEMES, Verdict, verdict
from fluxlike.job.job import Job
from fluxlike.job.states import State
from fluxlike_broker.modules.job_manager.archive import Archive
from fluxlike_broker.modules.job_manager.board import Board

RETRY = 1.0
"""Seconds until a store that failed is asked again."""


class Waiting:
    def __init__(self, board: Board, archive: Archive) -> None:
        self._board = board
        self._archive = archive
        self._dependants: dict[int, list[tuple[int, str]]] = {}
        """job waited for -> (job that waits, scheme)."""
        self._over: dict[int, Job] = {}
        """Jobs from the store, only while those that wait for them are being added."""
        self._news: deque[Job] = deque()
        self._judging = False
        board.on_applied.append(self._on_applied)

    def check(
        self, dependencies: list[list[dict[str, Any]]], on_checked: Callable[[FluxlikeError | None], None]
    ) -> None:
        """Before an id is issued: does everything that these jobspecs wait for exist? In the callback jobs that wait
        for it can be added."""
        paths = {
            decode(dependency["value"]): f"attributes.system.dependencies[{index}].value"
            for of_one in dependencies
            for index, dependency in enumerate(of_one)
            if dependency["scheme"] in SCHEMES
        }

        def found(jobs: dict[int, Job] | Exception) -> None:
            if isinstance(jobs, Exception):
                on_checked(StoreUnavailable(str(jobs)))
                return
            for target, path in paths.items():
                if target not in jobs:
                    on_checked(InvalidJobspec(f"there is no job {encode_f58(target)}", path))
                    return
            self._with(jobs, lambda: on_checked(None))

        self._archive.find(paths, found)

    def _with(self, over: dict[int, Job], act: Callable[[], None]) -> None:
        self._over = over
        try:
            act()
        finally:
            self._over = {}

    def add(self, job: Job, dependencies: Iterable[dict[str, Any]]) -> None:
        """Record what a new job in DEPEND waits for. May end it at once if that can never come true."""
        for dependency in dependencies:
            self._board.post(job, "dependency-add", {"description": _description(dependency)})
        self._watch(job)

    def resume(self, jobs: list[Job]) -> None:
        """After a restart: wait again for what is left of the dependencies of these jobs."""
        targets = {decode(value) for job in jobs for scheme, value in _parts(job) if scheme in SCHEMES}

        def found(ended: dict[int, Job] | Exception) -> None:
            if isinstance(ended, Exception):  # what it knows will decide, so there is nothing to do but ask again
                self._board.alarms.at(self._board.clock.now() + RETRY, 0, lambda _: self.resume(jobs))
            else:
                self._with(ended, act)

        def act() -> None:
            for job in jobs:
                self._watch(job)
                if job.state is State.DEPEND:
                    self._board.drive(job)

        self._archive.find(targets, found)

    def _watch(self, job: Job) -> None:
        for scheme, value in _parts(job):
            if job.state is not State.DEPEND:
                return
            if scheme == "begin-time":
                self._board.alarms.at(float(value), job.id, self._begin)
            else:
                target = decode(value)
                if self._judge(job, scheme, target) is Verdict.WAIT:
                    self._dependants.setdefault(target, []).append((job.id, scheme))

    def _begin(self, job_id: int) -> None:
        job = self._board.jobs.get(job_id)
        if job is not None and job.state is State.DEPEND:
            for description in dict.fromkeys(job.dependencies):
                scheme, _, value = description.partition("=")
                if scheme == "begin-time" and float(value) <= self._board.clock.now():
                    self._met(job, description)

    def _on_applied(self, job: Job, event: str) -> None:
        """One after the other: the end of a job may end the next, and a long line of them must not pile up calls."""
        if job.id not in self._dependants:
            return
        self._news.append(job)
        if self._judging:
            return
        self._judging = True
        try:
            while self._news:
                self._judge_dependants(self._news.popleft())
        finally:
            self._judging = False

    def _judge_dependants(self, job: Job) -> None:
        waiting = self._dependants.get(job.id)
        if not waiting:
            return
        if job.state is State.INACTIVE:
            del self._dependants[job.id]
        for dependant, scheme in list(waiting):
            found = self._board.jobs.get(dependant)
            if found is not None and found.state is State.DEPEND:
                self._judge(found, scheme, job.id)

    def _judge(self, job: Job, scheme: str, target_id: int) -> Verdict:
        description = f"{scheme}={encode_f58(target_id)}"
        target = self._board.jobs.get(target_id) or self._over.get(target_id)
        found = Verdict.NEVER if target is None else verdict(scheme, target)
        if found is Verdict.MET:
            if description in job.dependencies:
                self._met(job, description)
        elif found is Verdict.NEVER:
            note = f"dependency {description} can never be satisfied"
            if target is None:  # purged since: its outcome is not known any more
                note = f"{scheme}: job {encode_f58(target_id)} is gone"
            self._board.raise_exception(job, "depend", note)
        return found

    def _met(self, job: Job, description: str) -> None:
        self._board.post(job, "dependency-remove", {"description": description})
        self._board.drive(job)


def _description(dependency: dict[str, Any]) -> str:
    scheme, value = dependency["scheme"], dependency["value"]
    if scheme in SCHEMES:
        value = encode_f58(decode(value))
    return f"{scheme}={value}"


def _parts(job: Job) -> list[tuple[str, str]]:
    """(scheme, value) of what the job still waits for."""
    parts = [text.partition("=") for text in dict.fromkeys(job.dependencies)]
    return [(scheme, value) for scheme, _, value in parts]
