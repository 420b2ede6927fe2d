"""Jobspecs, kept once however many jobs share them."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from weakref import WeakValueDictionary

from fluxlike.errors import InvalidJobspec
from fluxlike.job.job import Job
from fluxlike.job.launch import executor_spec
from fluxlike.jobspec.model import Jobspec
from fluxlike.jobspec.parse import parse
from fluxlike.jobspec.update import updated
from fluxlike.sched.request import Request, request_of


class Spec:
    """A parsed jobspec with everything that follows from it alone."""

    __slots__ = ("__weakref__", "body", "digest", "jobspec", "launch", "name", "ntasks", "request")

    def __init__(self, digest: str, body: bytes, jobspec: Jobspec) -> None:
        self.digest = digest
        self.body = body
        self.jobspec = jobspec
        self.request: Request = request_of(jobspec)
        self.launch = executor_spec(jobspec)
        self.name = jobspec.name
        self.ntasks = jobspec.ntasks or _tasks_of_least(jobspec, self.request)


def _tasks_of_least(jobspec: Jobspec, request: Request) -> int:
    """Of a range the least is allocated, so that many slots have tasks."""
    slots = request.slots * (request.nodes or 1)
    return sum(slots * (task.per_slot or 1) for task in jobspec.tasks) or 1


def name_of(job: Job) -> str:
    """The job's name as it is shown: copies may be told apart by it."""
    name: str = job.spec.name
    return name.replace("{cc}", job.cc or "")


class Specs:
    """A spec lives as long as a job refers to it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, Spec] = WeakValueDictionary()

    def intern(self, document: dict[str, Any]) -> Spec:
        """Raises InvalidJobspec or Unsatisfiable."""
        try:
            body = json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode(
                "utf-8", "surrogateescape"
            )
        except (TypeError, ValueError) as error:
            parse(document)  # names the field if it can
            raise InvalidJobspec(f"this is no JSON document: {error}") from error
        digest = hashlib.sha256(body).hexdigest()
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = Spec(digest, body, parse(document))
        return known

    def updated(self, spec: Spec, values: dict[str, Any]) -> Spec:
        """With these values at these paths. Raises InvalidJobspec."""
        return self.intern(updated(json.loads(spec.body), values))

    def restore(self, digest: str, body: bytes) -> Spec:
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = Spec(digest, body, parse(json.loads(body)))
        return known
