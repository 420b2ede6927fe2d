"""One life of rank 0's job manager, and what surrounds it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Any

from fluxlike.clock import FrozenClock
from fluxlike.idset import mask_text
from fluxlike.protocol.internal import (
    EndTasks,
    FeedTasks,
    Launch,
    LaunchRow,
    NodesChanged,
    OutputDone,
    Settled,
    SignalTasks,
)
from fluxlike.protocol.message import Flag, Kind, Message
from fluxlike.protocol.payload import Payload
from fluxlike.sched.first_come import FirstCome
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.manager import JobManager
from fluxlike_broker.router import Router
from fluxlike_broker.service import request
from scenario_stage.answers import shown
from scenario_stage.store import Disk, HandStore
from scenario_stage.tape import Tape

BEGAN = 1_700_000_000.0
OWNER = 1000
CLIENT = 77


class SteppedLoop(asyncio.SelectorEventLoop):
    """Its time is the clock's, so a timer fires when the scenario says that time has passed."""

    def __init__(self, clock: FrozenClock) -> None:
        self._wall = clock
        super().__init__()

    def time(self) -> float:
        return self._wall.at - BEGAN  # small, or the clock's own precision would delay timers

    def turn(self) -> None:
        """One pass over everything that is ready now."""
        self.call_soon(self.stop)
        self.run_forever()


class NoLinks:
    """Rank 0 of an instance of one broker."""

    def send_up(self, message: Message) -> bool:
        return False

    def send_to(self, rank: int, message: Message) -> bool:
        return False

    def flood_down(self, message: Message) -> None: ...


class OneClient:
    """Everything that the scenario asks for is asked by the same client."""

    def __init__(self, tape: Tape, disk: Disk) -> None:
        self._tape = tape
        self._disk = disk
        self.answered: dict[int, Message] = {}
        """The last answer to each request, by its tag."""
        self.streamed: dict[int, list[Any]] = {}
        """What each stream has told so far, by the tag of its request."""

    def deliver(self, message: Message) -> bool:
        self.answered[message.matchtag] = message
        if message.flags & Flag.STREAM:
            self.streamed.setdefault(message.matchtag, []).append(message.body)
        if message.topic == "job.submit" and message.error is None:
            assert all(self._disk.has(job_id, "submit") for job_id in message.body.ids), "told before the commit"
        for line in shown(message, self._tape):
            self._tape.write(f"-> {message.topic}{line}")
        return True


class NotingExecution:
    """Stands for execution and output: takes notes, and insists that a start comes after its commit."""

    def __init__(self, tape: Tape, disk: Disk) -> None:
        self._tape = tape
        self._disk = disk

    @request(Launch)
    def launch(self, body: Launch, call: Call) -> None:
        for row in body.rows:
            assert self._is_told(row.id, "alloc"), "started before the commit of its alloc"
            self._tape.write(f"{'look for' if row.adopt else 'launch'} {self._row(row)}")

    def _is_told(self, key: int, event: str) -> bool:
        """Is this event of a job, or the like of a task, on disk?"""
        owner = self._tape.owner(key)
        return self._disk.has(owner, event if owner == key else _OF_TASKS[event])

    def _row(self, row: LaunchRow) -> str:
        where = [f"rank{rank}/task{_span(first, count)}/core{cores}" for rank, first, count, cores, _ in row.nodes]
        copy = "" if row.cc is None else f" cc={row.cc}"
        return f"{self._tape.called(row.id)} {' '.join(where)}{copy}{' started' if row.started else ''}"

    @request(EndTasks)
    def end(self, body: EndTasks, call: Call) -> None:
        for job_id, signum in body.rows:
            self._tape.write(f"end {self._tape.called(job_id)} {signal.Signals(signum).name}")

    @request(SignalTasks)
    def signal(self, body: SignalTasks, call: Call) -> Settled:
        self._tape.write(f"signal {self._tape.called(body.id)} {signal.Signals(body.signum).name}")
        return Settled()

    @request(FeedTasks)
    def feed(self, body: FeedTasks, call: Call) -> Settled:
        self._tape.write(f"feed {self._tape.called(body.id)} {body.data!r}{' eof' if body.eof else ''}")
        return Settled()

    @request(OutputDone)
    def output_done(self, body: OutputDone, call: Call) -> None:
        """Told after the end is committed, as everything that others hear of it."""
        assert all(self._is_told(key, "clean") for key in body.ids), "retired before the commit"


_OF_TASKS = {"alloc": "task-alloc", "clean": "task-finish"}


def _span(first: int, count: int) -> str:
    return mask_text(((1 << count) - 1) << first)


class World:
    def __init__(self) -> None:
        self.clock = FrozenClock(BEGAN)
        self.tape = Tape(BEGAN)
        self.disk = Disk()
        self.by_hand = False
        """Commit only when told."""
        self.nodes: list[tuple[int, str, int, int, bool]] = []
        self._tag = 0
        logging.getLogger("fluxlike").addHandler(self.tape)
        self._begin()

    def _begin(self) -> None:
        self._loop = SteppedLoop(self.clock)
        self._loop.set_exception_handler(self._broken)
        self.store = HandStore(self.disk, self.tape)
        self.router = Router(0, OWNER, 1)
        self.client = OneClient(self.tape, self.disk)
        self.router.connect(NoLinks(), self.client)
        self.router.register(NotingExecution(self.tape, self.disk))
        self.manager = JobManager(self.router, self.clock, self.store, FirstCome())
        self.store.on_failure = self.manager.store_failed
        self.store.on_recovered = self.manager.store_recovered

    def _broken(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.tape.write(f"BROKEN: {context.get('exception')!r}")

    # -- moving on --------------------------------------------------------------------------------------------

    def do(self, what: Callable[[], object]) -> None:
        """Have the loop do it, and all that follows from it now."""
        self._loop.call_soon(what)
        self.settle()

    def settle(self) -> None:
        """Until nothing more happens: three quiet passes, and nothing for the store to do."""
        quiet = 0
        while quiet < 3:
            before = self.tape.written
            self._loop.turn()
            if self.store.busy and not self.by_hand:
                self._loop.call_soon(self.store.work)
                self._loop.turn()
                quiet = -1
            quiet = quiet + 1 if self.tape.written == before or quiet < 0 else 0

    def commit(self) -> None:
        self.do(self.store.work)

    def advance(self, seconds: float) -> None:
        self.clock.at += seconds
        self.settle()

    def ask(self, payload: Payload, flags: int = Flag.NONE) -> int:
        self._tag += 1
        message = Message(
            Kind.REQUEST,
            payload.topic,
            payload,
            matchtag=self._tag,
            sender=CLIENT,
            userid=OWNER,
            flags=flags,
            route=[0],
        )
        self.do(lambda: self.router.handle(message))
        return self._tag

    def tell_nodes(self) -> None:
        self.do(lambda: self.router.request(NodesChanged(rows=self.nodes)))

    def restart(self) -> None:
        """As after kill -9: only what was committed is there again, and the nodes have yet to come."""
        self._end()
        self._begin()
        loaded = self.disk.load()
        self.do(lambda: self.manager.restore(loaded))

    def _end(self) -> None:
        self.manager.close()
        self._loop.close()

    def close(self) -> None:
        logging.getLogger("fluxlike").removeHandler(self.tape)
        self._end()
        self.disk.close()
