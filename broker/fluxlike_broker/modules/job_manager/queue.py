"""The queue's switches: whether jobs are started, whether new ones are taken, and waiting until it is empty."""

from __future__ import annotations

from collections.abc import Callable

from fluxlike.errors import InvalidRequest
from fluxlike.protocol.jobs import (
    QueueDisable,
    QueueDrain,
    QueueEnable,
    QueueIdle,
    QueueStart,
    QueueState,
    QueueStatus,
    QueueStop,
)
from fluxlike_broker.call import Call
from fluxlike_broker.modules.job_manager.board import Board
from fluxlike_broker.service import request

STARTED, ENABLED = "queue", "queue-enabled"
"""Keys of the store's state. Values are `1 ` or `0 REASON`."""


class Queue:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._waiting: list[tuple[Call, Callable[[], bool]]] = []
        """Who waits for the queue, and for what."""
        board.on_retired.append(lambda jobs: self._look())
        board.on_tasks_retired.append(lambda keys: self._look())

    def restore(self, state: dict[str, str]) -> None:
        """As it was switched before a restart."""
        board = self._board
        board.queue_started, board.stop_reason = _switch(state.get(STARTED))
        board.queue_enabled, board.disable_reason = _switch(state.get(ENABLED))

    @request(QueueStatus)
    def status(self, body: QueueStatus, call: Call) -> QueueState:
        return self._state()

    @request(QueueStop)
    def stop(self, body: QueueStop, call: Call) -> None:
        self._set_started(False, body.reason, call)

    @request(QueueStart)
    def start(self, body: QueueStart, call: Call) -> None:
        self._set_started(True, "", call)

    @request(QueueDisable)
    def disable(self, body: QueueDisable, call: Call) -> None:
        if not body.reason.strip():
            raise InvalidRequest("say why: whoever submits a job is told")
        self._set_enabled(False, body.reason, call)

    @request(QueueEnable)
    def enable(self, body: QueueEnable, call: Call) -> None:
        self._set_enabled(True, "", call)

    @request(QueueDrain)
    def drain(self, body: QueueDrain, call: Call) -> None:
        census = self._board.census
        self._when(lambda: not census.pending_count and not census.running_count, call)

    @request(QueueIdle)
    def idle(self, body: QueueIdle, call: Call) -> None:
        census = self._board.census
        self._when(lambda: not census.running_count, call)

    def _set_started(self, started: bool, reason: str, call: Call) -> None:
        board = self._board
        board.store.batch.put(STARTED, f"{int(started)} {reason}")
        board.queue_started, board.stop_reason = started, reason
        if started:
            board.schedule_soon()
        board.when_settled(lambda: call.respond(self._state()))

    def _set_enabled(self, enabled: bool, reason: str, call: Call) -> None:
        board = self._board
        board.store.batch.put(ENABLED, f"{int(enabled)} {reason}")
        board.queue_enabled, board.disable_reason = enabled, reason
        board.when_settled(lambda: call.respond(self._state()))

    def _when(self, reached: Callable[[], bool], call: Call) -> None:
        if reached():
            self._board.when_settled(lambda: call.respond(self._state()))
            return
        entry = (call, reached)
        self._waiting.append(entry)
        call.on_cancel(lambda: self._waiting.remove(entry))

    def _look(self) -> None:
        """Only an end can empty the queue, and one was committed."""
        for entry in list(self._waiting):
            call, reached = entry
            if reached():
                self._waiting.remove(entry)
                call.respond(self._state())

    def _state(self) -> QueueState:
        board = self._board
        return QueueState(
            started=board.queue_started,
            reason=board.stop_reason,
            pending=board.census.pending_count,
            running=board.census.running_count,
            enabled=board.queue_enabled,
            disable_reason=board.disable_reason,
        )


def _switch(text: str | None) -> tuple[bool, str]:
    on, _, reason = (text or "1 ").partition(" ")
    return on == "1", reason
