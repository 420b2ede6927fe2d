"""The job manager put together: one board and the services around it."""

from __future__ import annotations

from math import inf
from typing import Any

from fluxlike.clock import Clock
from fluxlike.protocol.internal import NodesChanged, Usage, UsageReply
from fluxlike.sched.interface import Scheduler
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.alarms import Alarms
from fluxlike_broker.modules.job_manager.archive import Archive
from fluxlike_broker.modules.job_manager.arrays import Arrays
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.modules.job_manager.control import Control
from fluxlike_broker.modules.job_manager.listing import Listing
from fluxlike_broker.modules.job_manager.purge import Purge
from fluxlike_broker.modules.job_manager.queue import Queue
from fluxlike_broker.modules.job_manager.restart import Restart
from fluxlike_broker.modules.job_manager.specs import Specs
from fluxlike_broker.modules.job_manager.submit import Submission
from fluxlike_broker.modules.job_manager.tasks import TaskListing
from fluxlike_broker.modules.job_manager.update import Update
from fluxlike_broker.modules.job_manager.waiting import Waiting
from fluxlike_broker.modules.job_manager.watching import Watching
from fluxlike_broker.router import Router
from fluxlike_broker.service import request
from fluxlike_broker.store.load import Loaded


class JobManager:
    def __init__(
        self,
        router: Router,
        clock: Clock,
        store: Any,
        scheduler: Scheduler,
        *,
        age_limit: float = inf,
        num_limit: int | None = None,
    ) -> None:
        self._alarms = Alarms(clock)
        self._board = Board(router, clock, store, scheduler, self._alarms)
        specs = Specs()
        archive = Archive(self._board, specs)
        waiting = Waiting(self._board, archive)
        self._submission = Submission(self._board, specs, waiting)
        arrays = Arrays(self._board, self._submission)
        listing = Listing(self._board, archive, arrays)
        self._purge = Purge(self._board, age_limit, num_limit)
        self._restart = Restart(self._board, specs, waiting, arrays)
        self._queue = Queue(self._board)
        for service in (
            self,
            self._submission,
            arrays,
            TaskListing(self._board, archive),
            self._purge,
            Control(self._board, archive, arrays),
            self._queue,
            Update(self._board, specs, arrays),
            listing,
            Watching(self._board, archive, listing),
        ):
            router.register(service)

    def restore(self, loaded: Loaded) -> None:
        self._queue.restore(loaded.state)
        self._restart.restore(loaded)
        self._submission.number_after(loaded.newest)

    @request(NodesChanged)
    def nodes(self, body: NodesChanged, call: Call) -> None:
        board = self._board
        for rank, host, cores, gpus, available in body.rows:
            board.name_host(rank, host)
            board.scheduler.define(rank, host, cores, gpus)
            board.scheduler.set_available(rank, available)
        board.schedule_soon()

    @request(Usage)
    def usage(self, body: Usage, call: Call) -> UsageReply:
        return UsageReply(usage={rank: self._board.scheduler.usage(rank) for rank in self._board.hosts})

    def store_failed(self, batch: Any, reason: str) -> None:
        """Nothing that was not durable was promised: new jobs are refused, news of running ones waits."""
        ids = batch.job_ids()
        batch.without_jobs(ids)
        self._submission.refuse_uncommitted(ids, reason)

    def store_recovered(self) -> None:
        self._board.schedule_soon()

    def close(self) -> None:
        self._purge.close()
        self._alarms.close()
