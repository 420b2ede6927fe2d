"""Following jobs: their events by long poll, their ends by stream."""

from __future__ import annotations

from typing import Any

from fluxlike.errors import InvalidRequest, NotFound
from fluxlike.ids import encode_f58
from fluxlike.job.eventlog import parse
from fluxlike.job.job import Event, Job
from fluxlike.protocol.jobs import JobEnds, JobEvents, JobEventsReply, JobJournal, JobWait, JournalRows
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.archive import Archive
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.listing import LARGEST_PAGE, Listing, store_error
from fluxlike_broker.service import request
from fluxlike_broker.store.history import log_of

LAST = "clean"
"""The event that makes a job inactive; none follows."""


class Watch:
    """One `job.wait` stream: the jobs it still waits for."""

    __slots__ = ("call", "left")

    def __init__(self, call: Call, left: set[int]) -> None:
        self.call = call
        self.left = left


class Watching:
    def __init__(self, board: Board, archive: Archive, listing: Listing) -> None:
        self._board = board
        self._archive = archive
        self._listing = listing
        self._watches: dict[int, list[Watch]] = {}
        board.on_retired.append(self._on_retired)

    @request(JobEvents)
    def events(self, body: JobEvents, call: Call) -> None:
        job = self._board.jobs.get(body.id)
        if job is None or job.retired or job.seq > body.since:
            self._from_store(body, call)
        elif not body.wait:
            call.respond(JobEventsReply(events=[], next=body.since, done=False))
        else:

            def happened(seq: int, events: list[Event]) -> None:
                call.respond(_reply(events, body.since, seq + len(events)))

            call.on_cancel(self._board.news.follow(job.id, happened))

    def _from_store(self, body: JobEvents, call: Call) -> None:
        def answer(found: Any) -> None:
            if isinstance(found, Exception):
                call.fail(store_error(found))
                return
            events = parse(found)
            if not events:
                call.fail(NotFound(f"there is no job {encode_f58(body.id)}"))
            elif len(events) > body.since or not body.wait or events[-1][1] == LAST:
                call.respond(_reply(events[body.since :], body.since, len(events), events[-1][1] == LAST))
            else:  # the client was told of events before they were stored: not by us
                call.fail(InvalidRequest(f"job {encode_f58(body.id)} has {len(events)} events, not {body.since}"))

        self._board.store.query(lambda connection: log_of(connection, body.id), answer)

    @request(JobJournal)
    def journal(self, body: JobJournal, call: Call) -> None:
        names = frozenset(body.names)

        def tell(rows: list[Any]) -> None:
            wanted = [row for row in rows if row[3] in names] if names else rows
            if wanted:
                call.send(JournalRows(events=wanted))

        call.on_cancel(self._board.news.listen(tell))
        call.send(JournalRows(events=[]))  # from here on nothing is missed

    @request(JobWait)
    def wait(self, body: JobWait, call: Call) -> None:
        def found(jobs: dict[int, Job] | Exception) -> None:
            if isinstance(jobs, Exception):
                call.fail(store_error(jobs))
                return
            missing = [job_id for job_id in body.ids if job_id not in jobs]
            if missing:
                call.fail(NotFound(f"there is no job {encode_f58(missing[0])}"))
            elif not call.done:
                self._watch(call, [jobs[job_id] for job_id in body.ids])

        self._archive.find(body.ids, found)

    def _watch(self, call: Call, jobs: list[Job]) -> None:
        ended = [job for job in jobs if job.retired]
        for start in range(0, len(ended), LARGEST_PAGE):
            some = ended[start : start + LARGEST_PAGE]
            call.send(JobEnds(jobs=[self._listing.record(job) for job in some]))
        watch = Watch(call, {job.id for job in jobs if not job.retired})
        if not watch.left:
            call.end()
            return
        for job_id in watch.left:
            self._watches.setdefault(job_id, []).append(watch)
        call.on_cancel(lambda: self._forget(watch))

    def _forget(self, watch: Watch) -> None:
        for job_id in watch.left:
            watches = self._watches.get(job_id, [])
            if watch in watches:
                watches.remove(watch)
            if not watches:
                self._watches.pop(job_id, None)

    def _on_retired(self, jobs: list[Job]) -> None:
        if not self._watches:
            return
        news: dict[int, tuple[Watch, list[dict[str, Any]]]] = {}
        for job in jobs:
            for watch in self._watches.pop(job.id, ()):
                watch.left.discard(job.id)
                news.setdefault(id(watch), (watch, []))[1].append(self._listing.record(job))
        for watch, records in news.values():
            watch.call.send(JobEnds(jobs=records))
            if not watch.left:
                watch.call.end()


def _reply(events: list[Event], since: int, following: int, done: bool | None = None) -> JobEventsReply:
    over = events[-1][1] == LAST if done is None else done
    return JobEventsReply(events=[list(event) for event in events], next=following, done=over)
