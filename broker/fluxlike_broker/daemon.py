"""The broker: the only place that picks the concrete parts and puts them together."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import signal
from contextlib import suppress
from typing import Any, ClassVar

from fluxlike.clock import SystemClock
from fluxlike.errors import ConfigError, FluxlikeError, HostUnreachable
from fluxlike.idset import Idset, mask_text
from fluxlike.lifecycle.states import Happening, Phase, after
from fluxlike.tree.subtree import Members
from fluxlike_broker.clients import ClientDoor
from fluxlike_broker.directories import is_held
from fluxlike_broker.discovery import discover
from fluxlike_broker.events import Subscriptions
from fluxlike_broker.facts import broker_facts
from fluxlike_broker.log import Ring
from fluxlike_broker.modules.execution.agent import Agent
from fluxlike_broker.overlay import Overlay, OverlayEvents
from fluxlike_broker.plan import Plan
from fluxlike_broker.root import Root
from fluxlike_broker.router import Router
from fluxlike_executor.lock import holder
from fluxlike_executor.strays import kill_tasks_under

log = logging.getLogger("fluxlike.broker")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Each asks the broker to stop."""


class Broker(OverlayEvents):
    """One rank. Rank 0 has a Root besides."""

    def __init__(self, plan: Plan, ring: Ring) -> None:
        self.plan = plan
        self.clock = SystemClock()
        self.started = self.phase_since = self.clock.now()
        self.phase = Phase.JOIN
        self.exit_status = 0
        self._ready = asyncio.Event()
        """Jobs of an earlier life are back: clients, children and the executor may come."""
        self._serving = False
        self._end = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._executor_told = False
        """Whether the executor could be told to end."""
        self.router = Router(plan.rank, os.geteuid(), secrets.randbits(40) << 20)
        self.overlay = Overlay(plan.boot, self.router, secrets.token_bytes(8), self)
        self.door = ClientDoor(self.router, plan.client_socket)
        self.router.connect(self.overlay, self.door)
        cores, gpus = discover(plan.settings.resource)
        self.agent = Agent(
            self.router,
            plan.executor_socket,
            plan.settings.exec.mode,
            {"host": plan.boot.host, "cores": mask_text(cores), "gpus": mask_text(gpus)},
            {
                "instance": plan.boot.instance,
                "rank": plan.rank,
                "host": plan.boot.host,
                "uri": plan.uri,
                "tmpdir": plan.tmpdir,
                "kill_timeout": plan.settings.exec.kill_timeout,
                "orphan_timeout": plan.orphan_timeout,
                "userid": os.geteuid(),
                "protocol": 1,
            },
        )
        self.root = Root(self) if plan.rank == 0 else None
        for service in (ring, Subscriptions(self.router), self.agent, self.agent.remote, broker_facts(self)):
            self.router.register(service)
        self.router.subscribe("broker.stop", lambda name, body, sequence: self.stop())
        self.router.subscribe("overlay.left", self._on_ranks_left)
        self.router.subscribe("overlay.joined", self._on_ranks_joined)

    # -- life -----------------------------------------------------------------------------------------------

    async def run(self) -> int:
        self._loop.set_exception_handler(_log_callback_failure)
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self.ask_stop)
        async with asyncio.TaskGroup() as group:
            executor = group.create_task(self.agent.link.run(), name="executor")
            heart = group.create_task(self._beat(), name="heartbeat")
            if self.root is not None:
                await self.root.open()
            self._begin()
            await self._ready.wait()
            if not self._end.is_set():
                await self.door.open()
                self._serving = True
                self._start_program()
            await self._end.wait()
            heart.cancel()
            executor.cancel()
        await self._close()
        self._ignore_signals()
        return self.exit_status

    def _begin(self) -> None:
        try:
            self.overlay.open()
        except ConfigError as error:
            if self.root is not None:
                self.root.fail(str(error))
            else:
                log.error("%s", error)
                self.exit_status = 1
                self._advance(Happening.PANIC)
        else:
            if self.root is not None:
                self._advance(Happening.JOINED)

    async def _close(self) -> None:
        self._end_executor()
        if self.root is not None:
            self.root.close()
        await self.door.close()
        self.overlay.close(goodbye=True)

    def _end_executor(self) -> None:
        """No task outlives a broker that ends in good order, also if its executor did not hear of it."""
        if not is_held(self.plan.executor_lock):
            # It was killed, and the next one is not there yet to end what it left.
            kill_tasks_under(self.plan.uri.encode(errors="surrogateescape"))
        elif not self._executor_told:
            pid = holder(self.plan.executor_lock)
            if pid.isdigit():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGTERM)

    def _ignore_signals(self) -> None:
        """The launcher ends who is left soon after rank 0: who is on the way out must not look as if it was killed."""
        for number in SIGNALS:
            self._loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.plan.settings.overlay.heartbeat)
            if self.root is not None:
                self.root.pulse()
            self.overlay.beat()

    def _advance(self, happening: Happening) -> None:
        before, self.phase = self.phase, after(self.phase, happening)
        if self.phase is before:
            return
        self.phase_since = self.clock.now()
        log.info("%s: %s -> %s", happening, before, self.phase)
        self._enter[self.phase](self)

    def happened(self, happening: Happening) -> None:
        self._advance(happening)

    def _enter_init(self) -> None:
        if self.root is None:
            self._advance(Happening.READY)
            self._advance(Happening.QUORUM_FULL)
        else:
            self.root.initialise()

    def _enter_quorum(self) -> None:
        self._ready.set()
        self.agent.attached()
        if self.root is not None:
            self.overlay.accept_children()
            self.root.check_quorum()

    def _enter_run(self) -> None:
        gc.collect()
        gc.freeze()
        self._start_program()

    def _start_program(self) -> None:
        """Once the quorum is there and clients can come, whichever is later: who hears of the URI uses it at once."""
        if self.root is not None and self._serving and self.phase is Phase.RUN:
            self.root.start_program()

    def _enter_cleanup(self) -> None:
        if self.root is not None:
            self.root.stop_jobs()
        else:
            self._advance(Happening.JOBS_ENDED)

    def _enter_shutdown(self) -> None:
        if self.root is not None:
            self.root.publisher.publish("broker.stop", {})
        self._loop.call_later(self.plan.settings.broker.shutdown_timeout, self._give_up_on_children)
        self.on_child_gone()

    def _enter_exit(self) -> None:
        self._executor_told = self.agent.link.connected
        self.agent.link.send("exit")
        self.agent.link.stop()
        self._end.set()
        self._ready.set()

    _enter: ClassVar = {
        Phase.INIT: _enter_init,
        Phase.QUORUM: _enter_quorum,
        Phase.RUN: _enter_run,
        Phase.CLEANUP: _enter_cleanup,
        Phase.SHUTDOWN: _enter_shutdown,
        Phase.EXIT: _enter_exit,
    }

    def ask_stop(self) -> None:
        """A signal: the root stops the instance, another rank only leaves it."""
        # On a busy machine the launcher may lose patience with a rank that is leaving anyway.
        if after(self.phase, Happening.STOP) is not self.phase:
            log.warning("asked to stop by a signal")
        self.stop()

    def stop(self) -> None:
        self._advance(Happening.STOP)

    def _give_up_on_children(self) -> None:
        if self.phase is Phase.SHUTDOWN:
            ranks = Idset.of(self.overlay.subtree.members())
            log.error("rank %s did not leave in time", ranks)
            self._advance(Happening.CHILDREN_GONE)

    # -- from the overlay -----------------------------------------------------------------------------------

    def on_attached(self) -> None:
        if self.phase is Phase.JOIN:
            self._advance(Happening.JOINED)
            return
        log.warning("attached to rank %s again", self.overlay.parent)
        error = HostUnreachable("the connection to rank 0 was renewed; ask again")
        upstream = {-1, *(r for r in range(self.plan.boot.size) if self.overlay.subtree.next_hop(r) is None)}
        upstream.discard(self.plan.rank)
        self._fail_requests(upstream, error)
        self.agent.attached()

    def on_members(self, members: Members, replaced: set[int]) -> None:
        for rank in replaced:
            self._forget_rank(rank)
        if self.root is not None:
            self.root.on_members(members, replaced)

    def on_left(self, ranks: set[int], *, cleanly: bool) -> None:
        if self.root is not None:
            self.root.on_left(ranks, cleanly=cleanly)

    def on_torpid(self, ranks: set[int], *, torpid: bool) -> None:
        if self.root is not None:
            self.root.on_torpid(ranks, torpid=torpid)

    def _on_ranks_left(self, name: str, body: dict[str, list[int]], sequence: int) -> None:
        for rank in body["ranks"]:
            if rank != self.plan.rank:  # that would be our own earlier life
                self._forget_rank(rank)

    def _on_ranks_joined(self, name: str, body: dict[str, list[int]], sequence: int) -> None:
        """We were taken for lost and need not have noticed, if it was an ancestor that was silent: begin anew."""
        if self.plan.rank in body["back"]:
            self.on_attached()

    def _forget_rank(self, rank: int) -> None:
        self.router.drop_calls_from(rank)
        self._fail_requests({rank}, HostUnreachable(f"rank {rank} is lost"))

    def _fail_requests(self, ranks: set[int], error: FluxlikeError) -> None:
        self.router.fail_pending(ranks, error)
        self.door.fail_requests(ranks, error)

    def on_child_gone(self) -> None:
        if self.phase is Phase.SHUTDOWN and not self.overlay.subtree.children:
            self._advance(Happening.CHILDREN_GONE)

    def on_cut_off(self, since: float) -> None:
        # Before the first attach there is nothing to lose: pods start in any order.
        if self.phase is not Phase.JOIN and since > self.plan.orphan_timeout:
            log.error("no way to rank 0 for %g s: giving up", since)
            self.exit_status = 1
            self._advance(Happening.PANIC)

    def on_refused(self, reason: str) -> None:
        log.error("rank %s refused us: %s", self.overlay.parent, reason)
        self.exit_status = 1
        self._advance(Happening.PANIC)


def _log_callback_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A callback of the loop failed: a bug, but the other jobs must not suffer from it."""
    log.error("%s", context.get("message"), exc_info=context.get("exception"))
