"""Jobs as messages: what goes into one, what goes into the next, and what their answers say. No waiting here."""

from __future__ import annotations

from fluxlike.client.core import pack
from fluxlike.errors import FluxlikeError, InvalidRequest, ProtocolError
from fluxlike.protocol.jobs import Submit, SubmitArray, Submitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from fluxlike.jobspec.model import Jobspec

    Dependencies = Mapping[int, Iterable[tuple[str, int]]]

BATCH_JOBS = 2000
"""Jobs in one submit message: enough to share a commit, few enough to keep no other client waiting."""

BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of jobspecs and values in one submit message; one jobspec may be larger."""

WINDOW = 8
"""Submit messages on their way at a time: while one is being stored, the next ones are made and read."""

LINKED_BYTES = 48 * 1024 * 1024
"""Bytes of jobs that depend on each other, which share a message. A frame holds 64 MiB, with all that is around."""

ROW_BYTES = 8
"""Of a job beside its jobspec and its value, about."""


class Bundle:
    """A submit message in the making. Equal jobspecs travel once; one that comes again is not looked at again."""

    __slots__ = ("_by_content", "_by_identity", "_given", "_most_bytes", "_most_jobs", "rows", "size", "specs")

    def __init__(self, most_jobs: float = BATCH_JOBS, most_bytes: int = BATCH_BYTES) -> None:
        self._most_jobs = most_jobs
        self._most_bytes = most_bytes
        self.specs: list[dict[str, Any]] = []
        self.rows: list[list[Any]] = []
        self.size = 0
        self._by_content: dict[bytes, int] = {}
        self._by_identity: dict[int, int] = {}
        self._given: list[object] = []
        """Kept, so that no other object gets the identity of one of them."""

    def add(
        self, jobspec: dict[str, Any] | Jobspec, cc: str | None = None, links: Iterable[tuple[str, int]] = ()
    ) -> bool:
        """False: it has no room here. The first job always has."""
        row: list[Any] = [self._by_identity.get(id(jobspec)), cc]
        linked = [[scheme, index] for scheme, index in links]
        if linked:
            row.append(linked)
        size = ROW_BYTES * (1 + len(linked)) + len(cc or "")
        if row[0] is None:
            return self._add_unseen(jobspec, row, size)
        return self._put(row, size)

    def _add_unseen(self, jobspec: dict[str, Any] | Jobspec, row: list[Any], size: int) -> bool:
        spec = jobspec if isinstance(jobspec, dict) else jobspec.to_json()
        content = pack(Submit.topic, spec)
        row[0] = known = self._by_content.get(content)
        if known is None:
            row[0] = len(self.specs)
            size += len(content)
        if not self._put(row, size):
            return False
        if known is None:
            self._by_content[content] = row[0]
            self.specs.append(spec)
        self._by_identity[id(jobspec)] = row[0]
        self._given.append(jobspec)
        return True

    def _put(self, row: list[Any], size: int) -> bool:
        if self.rows and (len(self.rows) >= self._most_jobs or self.size + size > self._most_bytes):
            return False
        self.rows.append(row)
        self.size += size
        return True

    def message(self, urgency: int, flags: Iterable[str], key: str = "") -> Submit:
        return Submit(specs=self.specs, jobs=self.rows, urgency=urgency, flags=list(flags), key=key)


def submit(jobspec: dict[str, Any] | Jobspec, urgency: int, flags: Iterable[str], key: str = "") -> Submit:
    bundle = Bundle()
    bundle.add(jobspec)
    return bundle.message(urgency, flags, key)


def submit_batches(
    jobspecs: Iterable[dict[str, Any] | Jobspec],
    urgency: int,
    flags: Iterable[str],
    key: str = "",
    dependencies: Dependencies | None = None,
) -> Iterator[Submit]:
    """Messages of bounded size, in order. With dependencies there is one; InvalidRequest if it would be too large."""
    if dependencies:
        return iter([_linked(list(jobspecs), dependencies).message(urgency, flags, key)])
    return instance_batches(((jobspec, None) for jobspec in jobspecs), urgency, flags, key)


def template_batches(
    jobspec: dict[str, Any] | Jobspec, cc_values: Iterable[str], urgency: int, flags: Iterable[str], key: str = ""
) -> Iterator[Submit]:
    """One jobspec, one job for each value of `{cc}`."""
    return instance_batches(((jobspec, value) for value in cc_values), urgency, flags, key)


def instance_batches(
    jobs: Iterable[tuple[dict[str, Any] | Jobspec, str | None]], urgency: int, flags: Iterable[str], key: str = ""
) -> Iterator[Submit]:
    """Messages of bounded size, in order: jobspecs with their values of `{cc}`, or None."""
    flags = list(flags)
    bundle, number = Bundle(), 0
    for jobspec, cc in jobs:
        if not bundle.add(jobspec, cc):
            yield bundle.message(urgency, flags, message_key(key, number))
            bundle, number = Bundle(), number + 1
            bundle.add(jobspec, cc)
    if bundle.rows:
        yield bundle.message(urgency, flags, message_key(key, number))


def message_key(key: str, number: int) -> str:
    """Each message has its own. The same jobs are cut into the same messages, so a repeat has the same keys."""
    return f"{key}/{number}" if key and number else key


def _linked(jobspecs: list[dict[str, Any] | Jobspec], dependencies: Dependencies) -> Bundle:
    for index in dependencies:
        if not 0 <= index < len(jobspecs):
            raise InvalidRequest(f"dependencies: there is no job {index} among the {len(jobspecs)} submitted")
    bundle = Bundle(float("inf"), LINKED_BYTES)
    for index, jobspec in enumerate(jobspecs):
        links = [(scheme, on) for scheme, on in dependencies.get(index, ())]
        for _, on in links:
            if not 0 <= on < index:
                raise InvalidRequest(f"dependencies: job {index} can only depend on jobs 0 to {index - 1}, not on {on}")
        if not bundle.add(jobspec, None, links):
            raise InvalidRequest(
                f"jobs that depend on each other travel in one message, and {index} of these {len(jobspecs)} fill its "
                f"{LINKED_BYTES >> 20} MiB: submit them in parts, and name jobs of earlier parts in the jobspec by id"
            )
    return bundle


def array(
    jobspec: dict[str, Any] | Jobspec,
    count: int | None,
    values: Iterable[str] | None,
    max_running: int,
    max_fails: int,
    urgency: int,
    flags: Iterable[str],
    key: str,
) -> SubmitArray:
    chosen = [] if values is None else list(values)
    if count is None and values is None:
        raise InvalidRequest("an array needs a count, or a value for each of its tasks")
    if count is not None and values is not None and count != len(chosen):
        raise InvalidRequest(f"an array of {count} tasks cannot have {len(chosen)} values: leave out one of them")
    return SubmitArray(
        spec=jobspec if isinstance(jobspec, dict) else jobspec.to_json(),
        count=len(chosen) if count is None else count,
        values=chosen,
        urgency=urgency,
        flags=list(flags),
        key=key,
        max_running=max_running,
        max_fails=max_fails,
    )


BEFORE = "before it"
ON_THEIR_WAY = "of messages that were on their way"


def only_id(reply: Submitted) -> int:
    if len(reply.ids) != 1:
        raise ProtocolError(f"one job was submitted and {len(reply.ids)} ids came back")
    return reply.ids[0]


def note_accepted(error: FluxlikeError, ids: list[int], which: str) -> None:
    """A message was refused and others were taken: those jobs exist, and who reads the error must know."""
    from fluxlike.ids import encode_f58

    if ids:
        error.add_note(f"{len(ids)} jobs {which} were accepted, the last as {encode_f58(ids[-1])}")
