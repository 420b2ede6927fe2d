"""Commands outside the queue (`fluxlike exec`): transient jobs of the executor, known by negative ids."""

from __future__ import annotations

import secrets
import signal
from collections import deque
from typing import Any

from fluxlike.errors import InvalidRequest, Unavailable
from fluxlike.protocol.instance import ExecOutput, ExecRun, ExecTaken
from fluxlike_broker.call import Call
from fluxlike_broker.modules.execution.executor_link import ExecutorLink
from fluxlike_broker.service import request

ATTEMPT = 0


class Command:
    """One that runs, and how far its output has been sent but not taken."""

    __slots__ = ("call", "id", "sent")

    def __init__(self, id: int, call: Call) -> None:
        self.id = id
        self.call = call
        self.sent: deque[int] = deque()
        """Where each piece of output ends that the asker's client has not taken. The executor reads no more of the
        command's output than its window holds beyond the last piece that was."""


class RemoteCommands:
    def __init__(self, link: ExecutorLink) -> None:
        self._link = link
        self._commands: dict[int, Command] = {}
        self._by_call: dict[tuple[int, int, int], Command] = {}
        # Not from 0 in each life: the executor may still have commands of the one before.
        self._last = -(secrets.randbits(40) << 20)

    @request(ExecRun)
    def run(self, body: ExecRun, call: Call) -> None:
        if not body.command:
            raise InvalidRequest("no command was given")
        if not self._link.connected:
            raise Unavailable("the executor of this rank is not connected")
        self._last -= 1
        command = Command(self._last, call)
        self._commands[command.id] = self._by_call[call.key] = command
        call.on_cancel(lambda: self._abandon(command))
        spec = {
            "command": body.command,
            "env": body.env,
            "cwd": body.cwd or "/",
            "stdin": "null",
            "stdout": "",
            "stderr": "",
            "label": False,
            "append": False,
            "name": body.command[0],
        }
        digest = f"-{command.id}"  # nothing comes back to it: the executor need not remember it
        row = [command.id, ATTEMPT, digest, None, 0, 1, 0, 1, 1, "", ""]
        self._link.send("start", {"specs": {digest: spec}, "jobs": [row]})

    @request(ExecTaken)
    def taken(self, body: ExecTaken, call: Call) -> None:
        """The asker's broker has got rid of so many answers to the request with the same tag: there is room again."""
        command = self._by_call.get(call.key)
        if command is not None:
            self._acknowledge(command, min(body.count, len(command.sent)))

    def _acknowledge(self, command: Command, pieces: int) -> None:
        if pieces > 0:
            end = [command.sent.popleft() for _ in range(pieces)][-1]
            self._link.send("output-ack", [[command.id, ATTEMPT, end]])

    def _forget(self, id: int) -> Command | None:
        command = self._commands.pop(id, None)
        if command is not None:
            self._by_call.pop(command.call.key, None)
        return command

    def _abandon(self, command: Command) -> None:
        self._forget(command.id)
        self._link.send("kill", [[command.id, ATTEMPT, int(signal.SIGTERM)]])
        # Nobody takes anything any more, and it cannot end while its output has nowhere to go.
        self._acknowledge(command, len(command.sent))

    def lost(self) -> None:
        """The executor is gone, or ends what it ran for this connection: nobody will tell how it ended."""
        for id in list(self._commands):
            command = self._forget(id)
            if command is not None:
                command.call.fail(Unavailable("the connection to the executor was lost; the command was ended"))

    def output(self, rows: list[Any]) -> None:
        for id, attempt, _node, offset, _task, stream, data in rows:
            command = self._commands.get(id)
            if command is None:
                self._link.send("output-ack", [[id, attempt, offset + len(data)]])
            else:
                command.sent.append(offset + len(data))
                command.call.send(ExecOutput(stream=stream, data=data))

    def results(self, rows: list[Any]) -> None:
        for row in rows:
            if row[3] != "finished":
                continue
            command = self._forget(row[1])
            if command is not None:
                command.call.send(ExecOutput(status=max(row[5], default=0), error=row[6]))
                command.call.end()
