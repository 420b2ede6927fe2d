"""Following jobs: their events by long poll, their ends by stream."""

from __future__ import annotations

from typing import Any

from fluxlike.job.job import Job
from fluxlike.job.states import State
from fluxlike.protocol.jobs import JobEnds, JobEvents, JobEventsReply, JobWait
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.listing import Listing, event_rows
from fluxlike_broker.service import request
from fluxlike_broker.store.load import events_of


class Watch:
    """One `job.wait` stream: the jobs it still waits for."""

    __slots__ = ("call", "left")

    def __init__(self, call: Call, left: set[int]) -> None:
        self.call = call
        self.left = left


class Watching:
    def __init__(self, board: Board, listing: Listing) -> None:
        self._board = board
        self._listing = listing
        self._watches: dict[int, list[Watch]] = {}
        board.on_retired.append(self._on_retired)

    @request(JobEvents)
    def events(self, body: JobEvents, call: Call) -> None:
        job = self._board[body.id]
        if job.eventlog is None:
            self._from_store(body, call)
        elif len(job.eventlog) > body.since:
            reply = self._reply(job, body.since)
            self._board.when_settled(lambda: call.respond(reply))
        elif not body.wait:
            call.respond(JobEventsReply(events=[], next=body.since, done=False))
        else:
            followers = self._board.on_event.setdefault(job.id, [])

            def wake() -> None:
                if not call.done:
                    self.events(body, call)

            followers.append(wake)
            call.on_cancel(lambda: followers.remove(wake) if wake in followers else None)

    def _reply(self, job: Job, since: int) -> JobEventsReply:
        assert job.eventlog is not None
        return JobEventsReply(
            events=[list(event) for event in job.eventlog[since:]],
            next=len(job.eventlog),
            done=job.state is State.INACTIVE,
        )

    def _from_store(self, body: JobEvents, call: Call) -> None:
        def answer(found: Any) -> None:
            if isinstance(found, Exception):
                call.fail(found)  # type: ignore[arg-type]
                return
            rows = event_rows(found)
            call.respond(JobEventsReply(events=rows[body.since :], next=len(rows), done=True))

        self._board.store.query(lambda connection: events_of(connection, body.id), answer)

    @request(JobWait)
    def wait(self, body: JobWait, call: Call) -> None:
        jobs = [self._board[job_id] for job_id in body.ids]
        ended = [job for job in jobs if job.eventlog is None]
        if ended:
            call.send(JobEnds(jobs=[self._listing.record(job) for job in ended]))
        watch = Watch(call, {job.id for job in jobs if job.eventlog is not None})
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
