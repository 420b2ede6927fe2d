"""Commands outside the queue (`fluxlike exec`): transient jobs of the executor, known by negative ids."""

from __future__ import annotations

import signal
from typing import Any

from fluxlike.errors import InvalidRequest, Unavailable
from fluxlike.protocol.instance import ExecOutput, ExecRun
from fluxlike_broker.call import Call
from fluxlike_broker.modules.execution.executor_link import ExecutorLink
from fluxlike_broker.service import request


class RemoteCommands:
    def __init__(self, link: ExecutorLink) -> None:
        self._link = link
        self._calls: dict[int, Call] = {}
        self._last = 0

    @request(ExecRun)
    def run(self, body: ExecRun, call: Call) -> None:
        if not body.command:
            raise InvalidRequest("no command was given")
        if not self._link.connected:
            raise Unavailable("the executor of this rank is not connected")
        self._last -= 1
        key = self._last
        self._calls[key] = call
        call.on_cancel(lambda: self._abandon(key))
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
        digest = f"-{key}"  # nothing comes back to it: the executor need not remember it
        row = [key, 0, digest, None, 0, 1, 0, 1, 1, "", ""]
        self._link.send("start", {"specs": {digest: spec}, "jobs": [row]})

    def _abandon(self, key: int) -> None:
        self._calls.pop(key, None)
        self._link.send("kill", [[key, 0, int(signal.SIGTERM)]])

    def lost(self) -> None:
        """The executor is gone, or ends what it ran for this connection: nobody will tell how it ended."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.fail(Unavailable("the connection to the executor was lost; the command was ended"))

    def output(self, rows: list[Any]) -> None:
        for key, attempt, _node, offset, _task, stream, data in rows:
            call = self._calls.get(key)
            if call is not None:
                call.send(ExecOutput(stream=stream, data=data))
            self._link.send("output-ack", [[key, attempt, offset + len(data)]])

    def results(self, rows: list[Any]) -> None:
        for row in rows:
            if row[3] != "finished":
                continue
            call = self._calls.pop(row[1], None)
            if call is not None:
                call.send(ExecOutput(status=max(row[5], default=0), error=row[6]))
                call.end()
