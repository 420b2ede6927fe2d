"""The agent of one rank: passes starts and signals to the executor, and its results and output to rank 0."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import partial
from typing import Any

import msgpack

from fluxlike.protocol.execution import (
    ExecAck,
    ExecHello,
    ExecHelloReply,
    ExecResults,
    ExecSignal,
    ExecStart,
    ExecStdin,
    OutputAck,
    OutputWrite,
)
from fluxlike.protocol.message import Message
from fluxlike_broker.call import Call
from fluxlike_broker.modules.execution.executor_link import ExecutorLink
from fluxlike_broker.modules.execution.remote import RemoteCommands
from fluxlike_broker.router import Router
from fluxlike_broker.service import request

log = logging.getLogger("fluxlike.exec")

_START = msgpack.packb("start")
ROOT = 0

FIRST_RETRY, LAST_RETRY = 1.0, 30.0
"""Seconds until what rank 0 did not take (no room for output, no way to it) is offered again; doubled each time."""


class Agent:
    """Between executor and rank 0 it keeps only the order: the executor has what is not acknowledged, and says it
    again."""

    def __init__(
        self, router: Router, socket_path: str, mode: str, inventory: dict[str, str], hello: dict[str, Any]
    ) -> None:
        """`mode`: of the executor. `inventory`: host, cores and gpus of this rank. `hello`: what the executor is told
        of its broker."""
        self._router = router
        self._inventory = inventory
        self._hello = hello
        self._attached = False
        self._again: asyncio.TimerHandle | None = None
        self._retry = FIRST_RETRY
        self._written = self._answered = 0
        """Messages of output sent to rank 0 since the last welcome, and how many of them it has answered."""
        self._welcomes = 0
        self._held: deque[tuple[int, list[Any]]] = deque()
        """Results, each with the number of output messages before it: the end of a job never overtakes its output."""
        self._output_refused = False
        """Until the executor has said everything again, its results may be those of jobs whose output is not safe."""
        self.epoch = ""
        self.pid = 0
        self.link = ExecutorLink(socket_path, self._greet, self._from_executor, lambda: self.remote.lost(), mode)
        self.remote = RemoteCommands(self.link)

    def attached(self) -> None:
        """There is a (new) way to rank 0: present everything again."""
        self._attached = True
        if self.link.connected:
            self._greet()

    def _greet(self) -> None:
        """Also before there is a way to rank 0: an executor that no broker greets takes itself for an orphan."""
        self.link.send("hello", self._hello)

    def _greet_later(self) -> None:
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(self._retry, self._greet_again)
            self._retry = min(2 * self._retry, LAST_RETRY)

    def _greet_again(self) -> None:
        self._again = None
        self._greet()

    def _from_executor(self, fields: list[Any]) -> None:
        kind, *rest = fields
        if kind == "welcome":
            self._on_welcome(rest[0])
        elif kind == "results":
            self._on_results(rest[0])
        elif kind == "output":
            self._on_output(rest[0])
        else:
            log.warning("the executor sent an unknown %r", kind)

    def _on_welcome(self, body: dict[str, Any]) -> None:
        self.epoch, self.pid = body["epoch"], body["pid"]
        # All that is not acknowledged follows. An answer to what was sent before may never come, so it does not count.
        self._welcomes += 1
        self._written = self._answered = 0
        self._held.clear()
        self._output_refused = False
        if not self._attached:
            return  # `attached` greets again
        hello = ExecHello(
            rank=self._router.rank,
            epoch=self.epoch,
            pid=self.pid,
            jobs=[row for row in body["jobs"] if row[0] >= 0],
            **self._inventory,
        )
        self._router.request(hello, self._on_hello_reply, nodeid=ROOT)

    def _on_hello_reply(self, message: Message) -> None:
        error = message.failure()
        if error is not None:
            log.warning("rank 0 did not take our hello: %s", error)
            return
        unwanted = message.read(ExecHelloReply).kill
        if unwanted:
            log.warning("ending %d jobs that the queue no longer wants here", len(unwanted))
            self.link.send("kill", [[job, attempt, 15] for job, attempt in unwanted])

    def _on_results(self, rows: list[Any]) -> None:
        mine = [row for row in rows if row[1] < 0]
        if mine:
            self.remote.results(mine)
            rows = [row for row in rows if row[1] >= 0]
        if rows and not self._output_refused:
            self._held.append((self._written, rows))
            self._report()

    def _report(self) -> None:
        while self._held and self._held[0][0] <= self._answered:
            _, rows = self._held.popleft()
            body = ExecResults(rank=self._router.rank, epoch=self.epoch, results=rows)
            self._router.request(body, self._on_results_reply, nodeid=ROOT)

    def _on_results_reply(self, message: Message) -> None:
        # Unanswered or refused results stay with the executor and come again after the next hello.
        if message.error is None:
            self._retry = FIRST_RETRY
            self.link.send("ack", message.read(ExecAck).sequence)
        else:
            self._greet_later()

    def _on_output(self, rows: list[Any]) -> None:
        mine = [row for row in rows if row[0] < 0]
        if mine:
            self.remote.output(mine)
            rows = [row for row in rows if row[0] >= 0]
        if rows:
            self._written += 1
            self._router.request(OutputWrite(rows=rows), partial(self._on_output_reply, self._welcomes), nodeid=ROOT)

    def _on_output_reply(self, welcomes: int, message: Message) -> None:
        if message.error is None:
            self._retry = FIRST_RETRY
            self.link.send("output-ack", message.read(OutputAck).rows)
        if welcomes == self._welcomes:
            self._output_answered(refused=message.error is not None)

    def _output_answered(self, *, refused: bool) -> None:
        self._answered += 1
        if not refused:
            self._report()
        else:
            self._output_refused = True
            self._held.clear()
            self._greet_later()  # the executor then says again what was not acknowledged

    # -- from rank 0 ----------------------------------------------------------------------------------------

    @request(ExecStart)
    def start(self, body: ExecStart, call: Call) -> None:
        self.link.send_packed(b"\x92" + _START + call.message.data)

    @request(ExecSignal)
    def signal(self, body: ExecSignal, call: Call) -> None:
        kills = [[job, attempt, signum] for job, attempt, signum, follow_up in body.signals if follow_up]
        plain = [[job, attempt, signum] for job, attempt, signum, follow_up in body.signals if not follow_up]
        if kills:
            self.link.send("kill", kills)
        if plain:
            self.link.send("signal", plain)

    @request(ExecStdin)
    def stdin(self, body: ExecStdin, call: Call) -> None:
        self.link.send("stdin", body.id, body.attempt, body.tasks, body.data, body.eof)
