"""The output service of rank 0: writes what executors send, and lets any number of readers follow."""

from __future__ import annotations

import logging
import os
from bisect import bisect_right

from fluxlike.errors import StoreUnavailable
from fluxlike.ids import MAX_ID, encode, following, tick_of
from fluxlike.protocol.execution import OutputAck, OutputWrite
from fluxlike.protocol.internal import JobAlive, JobAliveReply, OutputDone, OutputForget
from fluxlike.protocol.jobs import OutputRead, OutputReadReply
from fluxlike.protocol.message import Message
from fluxlike_broker.call import Call
from fluxlike_broker.modules.output.spool import JobSpool, read
from fluxlike_broker.router import Router
from fluxlike_broker.service import request

log = logging.getLogger("fluxlike.output")

FEW = 1000
"""Tasks of an array whose output is looked for one by one, not in the whole of the spool."""


class Output:
    def __init__(self, router: Router, directory: str) -> None:
        self._router = router
        self._directory = directory
        self._writing: dict[int, JobSpool] = {}
        self._waiting: dict[int, list[tuple[Call, OutputRead]]] = {}

    def path_of(self, job_id: int) -> str:
        # 256 folders keep a directory of a million jobs listable.
        return os.path.join(self._directory, f"{job_id & 0xFF:02x}", encode(job_id, "dec"))

    @request(OutputWrite)
    def write(self, body: OutputWrite, call: Call) -> OutputAck:
        safe: dict[tuple[int, int], int] = {}
        touched: set[int] = set()
        try:
            for job_id, attempt, node, offset, task, stream, data in body.rows:
                spool = self._writing.get(job_id)
                if spool is None:
                    spool = self._writing[job_id] = JobSpool(self.path_of(job_id))
                safe[job_id, attempt] = spool.write(node, attempt, offset, task, stream, data)
                touched.add(job_id)
        except OSError as error:
            log.error("cannot spool output: %s", error)
            raise StoreUnavailable(f"cannot spool output: {error}") from error
        for job_id in touched & self._waiting.keys():
            self._wake(job_id, done=False)
        return OutputAck(rows=[[job_id, attempt, size] for (job_id, attempt), size in safe.items()])

    @request(OutputRead)
    def read(self, body: OutputRead, call: Call) -> OutputReadReply | None:
        records, following = read(self.path_of(body.id), body.offset, body.limit)
        if records:
            return OutputReadReply(records=records, next=following, done=False)
        self._router.request(JobAlive(id=body.id), lambda reply: self._none_yet(body, call, reply))
        return None

    def _none_yet(self, body: OutputRead, call: Call, reply: Message) -> None:
        error = reply.failure()
        if error is not None:
            call.fail(error)
        elif not reply.read(JobAliveReply).active or not body.wait:
            done = not reply.read(JobAliveReply).active
            call.respond(OutputReadReply(records=[], next=body.offset, done=done))
        else:
            entry = (call, body)
            self._waiting.setdefault(body.id, []).append(entry)
            call.on_cancel(lambda: self._forget(body.id, entry))

    def _forget(self, job_id: int, entry: tuple[Call, OutputRead]) -> None:
        waiting = self._waiting.get(job_id, [])
        if entry in waiting:
            waiting.remove(entry)

    @request(OutputDone)
    def done(self, body: OutputDone, call: Call) -> None:
        for job_id in body.ids:
            spool = self._writing.pop(job_id, None)
            if spool is not None:
                spool.close()
            if job_id in self._waiting:
                self._wake(job_id, done=True)

    @request(OutputForget)
    def forget(self, body: OutputForget, call: Call) -> None:
        for job_id in body.ids:
            _remove(self.path_of(job_id))
        large: list[tuple[int, int]] = []
        for first, last in body.ranges:
            count = tick_of(last) - tick_of(first) + 1
            if count > FEW:
                large.append((first, last))
                continue
            for job_id in following(first, count):
                _remove(self.path_of(job_id))
        if large:
            self._forget_ranges(sorted(large))

    def _forget_ranges(self, ranges: list[tuple[int, int]]) -> None:
        """By what is there: most tasks of a large array write nothing. Ranges do not overlap."""
        for folder in _names(self._directory):
            for name in _names(os.path.join(self._directory, folder)):
                at = bisect_right(ranges, (int(name), MAX_ID)) - 1 if name.isdecimal() else -1
                if at >= 0 and int(name) <= ranges[at][1]:
                    _remove(os.path.join(self._directory, folder, name))

    def _wake(self, job_id: int, *, done: bool) -> None:
        for call, body in self._waiting.pop(job_id, []):
            records, following = read(self.path_of(job_id), body.offset, body.limit)
            call.respond(OutputReadReply(records=records, next=following, done=done and not records))

    def close(self) -> None:
        for spool in self._writing.values():
            spool.close()


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        log.warning("cannot remove %s: %s", path, error)
