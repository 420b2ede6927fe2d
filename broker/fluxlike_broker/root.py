"""What only rank 0 does: the roster, the queue, the store, the initial program, the end of the instance."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from fluxlike.errors import FluxlikeError
from fluxlike.idset import Idset
from fluxlike.lifecycle.states import Happening, Phase
from fluxlike.protocol.instance import (
    OverlayStatus,
    OverlayTree,
    Shutdown,
    ShutdownProgress,
    Uptime,
    UptimeReply,
)
from fluxlike.protocol.internal import StopJobs
from fluxlike.protocol.message import Message
from fluxlike.sched.first_come import FirstCome
from fluxlike.tree.health import Roster
from fluxlike.tree.subtree import Members
from fluxlike_broker.call import Call
from fluxlike_broker.control_line import ControlLine
from fluxlike_broker.events import Publisher
from fluxlike_broker.modules.execution.leader import ExecutionLeader
from fluxlike_broker.modules.job_manager.manager import JobManager
from fluxlike_broker.modules.output.service import Output
from fluxlike_broker.modules.resource.service import Resources
from fluxlike_broker.service import request
from fluxlike_broker.store.load import Loaded, load
from fluxlike_broker.store.writer import StoreWriter

if TYPE_CHECKING:
    from fluxlike_broker.daemon import Broker

log = logging.getLogger("fluxlike.broker")


class ForgetfulNotes:
    """For a throw-away instance: nobody will come back to read."""

    def put(self, key: str, value: str) -> None:
        pass


class Root:
    def __init__(self, broker: Broker) -> None:
        plan, router = broker.plan, broker.router
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._roster = Roster(list(plan.boot.hosts), plan.boot.overlay.fanout, broker.clock.now())
        self.publisher = Publisher(router)
        self._control = ControlLine(self._from_launcher, self._launcher_gone)
        self._stop_calls: list[Call] = []
        self._quorum_warning: asyncio.TimerHandle | None = None
        self._store = StoreWriter(
            plan.store_url,
            plan.durable,
            self._loop.call_soon_threadsafe,
            lambda batch, reason: self._jobs.store_failed(batch, reason),
            lambda: self._jobs.store_recovered(),
        )
        limits = plan.settings.job_manager
        self._jobs = JobManager(
            router,
            broker.clock,
            self._store,
            FirstCome(),
            age_limit=limits.inactive_age_limit,
            num_limit=limits.inactive_num_limit,
        )
        self._leader = ExecutionLeader(
            router,
            broker.clock,
            (lambda: self._store.batch) if plan.durable else ForgetfulNotes,
            plan.settings.exec.lost_grace,
        )
        self._resources = Resources(router, broker.clock, plan.boot.hosts, lambda: self._store.batch, self._store.flush)
        self._output = Output(router, os.path.join(plan.data, "spool"))
        for service in (self, self.publisher, self._leader, self._resources, self._output):
            router.register(service)

    async def open(self) -> None:
        boot = self._broker.plan.boot
        self._roster.join(0, self._broker.overlay.uuid, boot.host, None, self._broker.clock.now())
        if self._broker.plan.control_fd >= 0:
            await self._control.open(self._broker.plan.control_fd)

    def initialise(self) -> None:
        """A store that may hold jobs is read before anything else happens; a new one opens while we go on."""
        if self._broker.plan.durable:
            self._store.query(load, self._loaded)
        else:
            self._broker.happened(Happening.READY)

    def _loaded(self, found: Loaded | Exception) -> None:
        if isinstance(found, Exception):
            self.fail(f"cannot open the store: {found}")
            return
        self._leader.remember(found.state)
        self._resources.restore(found.state)
        self._jobs.restore(found)
        self._broker.happened(Happening.READY)

    def fail(self, reason: str) -> None:
        """The instance cannot start: the launcher is told why."""
        log.error("%s", reason)
        self._control.say(failed=reason)
        self._broker.exit_status = 1
        self._broker.happened(Happening.PANIC)

    # -- members --------------------------------------------------------------------------------------------

    def on_members(self, members: Members, replaced: set[int]) -> None:
        now = self._broker.clock.now()
        if replaced:
            self.publisher.publish("overlay.left", {"ranks": sorted(replaced), "cleanly": False})
        back = [rank for rank, (uuid, *_) in members.items() if self._roster.given_up(rank, uuid)]
        fresh = [
            rank for rank, (uuid, host, parent) in members.items() if self._roster.join(rank, uuid, host, parent, now)
        ]
        if fresh:
            log.info("rank %s joined", Idset.of(fresh))
            self.publisher.publish("overlay.joined", {"ranks": fresh, "back": back})
        if self._broker.phase is Phase.SHUTDOWN:  # it was between two parents when the others were told
            self.publisher.publish("broker.stop", {})
        self.check_quorum()

    def on_left(self, ranks: set[int], *, cleanly: bool) -> None:
        now = self._broker.clock.now()
        gone = [rank for rank in sorted(ranks) if self._roster.leave(rank, now, cleanly=cleanly)]
        if gone:
            log.log(logging.INFO if cleanly else logging.ERROR, "rank %s left", Idset.of(gone))
            self.publisher.publish("overlay.left", {"ranks": gone, "cleanly": cleanly})

    def on_torpid(self, ranks: set[int], *, torpid: bool) -> None:
        for rank in ranks:
            self._roster[rank].torpid = torpid
        self.publisher.publish("overlay.torpid", {"ranks": sorted(ranks), "torpid": torpid})

    def pulse(self) -> None:
        self.publisher.publish("heartbeat", {})

    def check_quorum(self) -> None:
        if self._broker.phase is not Phase.QUORUM:
            return
        if self._quorum_warning is None:
            self._warn_later()
        online, wanted = len(self._roster.online()), self._quorum()
        if online >= wanted:
            if self._quorum_warning is not None:
                self._quorum_warning.cancel()
            self._broker.happened(Happening.QUORUM_FULL)

    def _quorum(self) -> int:
        chosen = self._broker.plan.settings.broker.quorum
        return self._broker.plan.boot.size if chosen is None else chosen

    def _warn_later(self) -> None:
        delay = self._broker.plan.settings.broker.quorum_warn
        self._quorum_warning = self._loop.call_later(delay, self._warn)

    def _warn(self) -> None:
        online = self._roster.online()
        missing = set(range(self._broker.plan.boot.size)) - set(online)
        log.warning(
            "quorum delayed: %d of %d ranks are online, rank %s is not",
            len(online),
            self._quorum(),
            Idset.of(missing),
        )
        self._warn_later()

    # -- the initial program and the end --------------------------------------------------------------------

    def start_program(self) -> None:
        self._store.warm_up()
        self._control.say(state="run", uri=self._broker.plan.uri)

    def _from_launcher(self, words: dict[str, Any]) -> None:
        if "program" in words:
            self._broker.exit_status = words["program"]
            self._broker.happened(Happening.PROGRAM_ENDED)
        elif "stop" in words:
            self._broker.stop()

    def _launcher_gone(self) -> None:
        if not self._broker.plan.detached and self._broker.phase is not Phase.EXIT:
            log.warning("the launcher is gone: stopping")
            self._broker.stop()

    def stop_jobs(self) -> None:
        if self._quorum_warning is not None:
            self._quorum_warning.cancel()
        self._control.say(stopping=True)
        self._tell("ending running jobs")
        timeout = self._broker.plan.settings.broker.cleanup_timeout
        timer = self._loop.call_later(timeout, self._jobs_linger)

        def ended(reply: Message) -> None:
            timer.cancel()
            if self._broker.phase is Phase.CLEANUP:
                self._broker.happened(Happening.JOBS_ENDED)

        self._broker.router.request(StopJobs(all=not self._broker.plan.durable), ended)

    def _jobs_linger(self) -> None:
        if self._broker.phase is Phase.CLEANUP:
            log.error("some jobs did not end in time; going on without them")
            self._broker.happened(Happening.JOBS_ENDED)

    def _tell(self, text: str) -> None:
        for call in self._stop_calls:
            call.send(ShutdownProgress(text=text))

    @request(Shutdown)
    def shutdown(self, body: Shutdown, call: Call) -> None:
        self._stop_calls.append(call)
        call.on_cancel(lambda: self._stop_calls.remove(call))
        self._broker.stop()

    def close(self) -> None:
        self._tell("stopped")
        for call in list(self._stop_calls):
            call.end()
        self._jobs.close()
        self._output.close()
        self._control.close()
        try:
            self._store.close(timeout=10.0)
        except FluxlikeError as error:
            log.error("closing the store: %s", error)

    # -- questions ------------------------------------------------------------------------------------------

    @request(OverlayStatus)
    def overlay_status(self, body: OverlayStatus, call: Call) -> OverlayTree:
        return OverlayTree(tree=self._roster.tree())

    @request(Uptime)
    def uptime(self, body: Uptime, call: Call) -> UptimeReply:
        broker = self._broker
        plan = broker.plan
        durable = f"{plan.store_name}: an acknowledged job survives power loss"
        notices = [] if self._store.failure is None else [f"the store cannot commit: {self._store.failure}"]
        return UptimeReply(
            state=str(broker.phase),
            since=broker.phase_since,
            started=broker.started,
            size=plan.boot.size,
            online=len(self._roster.online()),
            level=plan.boot.level,
            owner=os.geteuid(),
            drained=self._resources.drained,
            store=durable if plan.durable else "throw-away: jobs are lost with the instance",
            notices=notices,
        )
