"""Dependencies: who waits for which job, and until when."""

from __future__ import annotations

from collections import deque
from typing import Any

from fluxlike.errors import InvalidJobspec
from fluxlike.ids import decode, encode_f58
from fluxlike.job.dependencies import SCHEMES, Verdict, verdict
from fluxlike.job.job import Job
from fluxlike.job.states import State
from fluxlike_broker.modules.job_manager.board import Board


class Waiting:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._dependants: dict[int, list[tuple[int, str]]] = {}
        """job waited for -> (job that waits, scheme)."""
        self._news: deque[Job] = deque()
        self._judging = False
        board.on_applied.append(self._on_applied)

    def check(self, dependencies: list[dict[str, Any]]) -> None:
        """Before an id is issued: does everything that is to be waited for exist? Raises InvalidJobspec."""
        for index, dependency in enumerate(dependencies):
            scheme = dependency["scheme"]
            if scheme in SCHEMES and decode(dependency["value"]) not in self._board.jobs:
                path = f"attributes.system.dependencies[{index}].value"
                raise InvalidJobspec(f"there is no job {dependency['value']}", path)

    def add(self, job: Job) -> None:
        """Record what a new job in DEPEND waits for. May end it at once if that can never come true."""
        for dependency in job.spec.jobspec.dependencies:
            self._board.post(job, "dependency-add", {"description": _description(dependency)})
        self.watch(job)

    def watch(self, job: Job) -> None:
        """Start waiting, also after a restart, when some dependencies may have been removed already."""
        for dependency in job.spec.jobspec.dependencies:
            description = _description(dependency)
            if description not in job.dependencies or job.state is not State.DEPEND:
                continue
            if dependency["scheme"] == "begin-time":
                self._board.alarms.at(float(dependency["value"]), job.id, self._begin)
            else:
                target = decode(dependency["value"])
                self._dependants.setdefault(target, []).append((job.id, dependency["scheme"]))
                self._judge(job, dependency["scheme"], target)

    def _begin(self, job_id: int) -> None:
        job = self._board.jobs.get(job_id)
        if job is not None and job.state is State.DEPEND:
            for description in dict.fromkeys(job.dependencies):
                scheme, _, value = description.partition("=")
                if scheme == "begin-time" and float(value) <= self._board.clock.now():
                    self._met(job, description)

    def _on_applied(self, job: Job, event: str) -> None:
        """One after the other: the end of a job may end the next, and a long line of them must not pile up calls."""
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

    def _judge(self, job: Job, scheme: str, target_id: int) -> None:
        target = self._board.jobs.get(target_id)
        if target is None:  # purged since: its outcome is not known any more
            self._board.raise_exception(job, "depend", f"{scheme}: job {encode_f58(target_id)} is gone")
            return
        description = f"{scheme}={encode_f58(target_id)}"
        match verdict(scheme, target):
            case Verdict.MET:
                if description in job.dependencies:
                    self._met(job, description)
            case Verdict.NEVER:
                note = f"dependency {description} can never be satisfied"
                self._board.raise_exception(job, "depend", note)
            case Verdict.WAIT:
                pass

    def _met(self, job: Job, description: str) -> None:
        self._board.post(job, "dependency-remove", {"description": description})
        self._board.drive(job)


def _description(dependency: dict[str, Any]) -> str:
    scheme, value = dependency["scheme"], dependency["value"]
    if scheme in SCHEMES:
        value = encode_f58(decode(value))
    return f"{scheme}={value}"
