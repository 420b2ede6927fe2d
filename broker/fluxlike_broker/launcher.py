"""The launcher: forks the ranks of this host, runs the initial program, waits for the end, leaves nothing behind."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from fluxlike.config import environment
from fluxlike_broker import children
from fluxlike_broker.directories import is_held, private, remove
from fluxlike_broker.plan import Plan
from fluxlike_executor.lock import holder

PATIENCE = 10.0
"""Seconds that brokers get to leave by themselves once their instance has no rank 0."""

GRACE = 0.5
"""Seconds after the end of rank 0 in which the others end by themselves, having been told. Who is left was not."""

OF_A_TASK = frozenset(
    {
        "FLUX_JOB_ID",
        "FLUX_JOB_ID_PATH",
        "FLUX_JOB_SIZE",
        "FLUX_JOB_NNODES",
        "FLUX_JOB_CC",
        "FLUX_TASK_RANK",
        "FLUX_TASK_LOCAL_ID",
        "FLUXLIKE_ARRAY_ID",
        "FLUXLIKE_ARRAY_INDEX",
        "FLUXLIKE_EXEC",
    }
)
"""What tells a task who it is."""


class Launcher:
    def __init__(self, plans: list[Plan], program: list[str], *, throw_away: str | None) -> None:
        """`plans` are the ranks to be alive; `throw_away` is a run directory to remove at the end."""
        self._plans = plans
        self._program = program
        self._throw_away = throw_away
        self._brokers: dict[int, int] = {}
        self._executors: dict[int, int] = {}
        self._started: set[int] = set()
        """Ranks whose broker we forked; others may live by an earlier start."""
        self._line, self._far_end = socket.socketpair()
        self._program_pid = 0
        self._status: int | None = None
        self._signals = 0
        self._heard = b""
        self._stopping = False
        """Rank 0 ends the instance in good order: no rank of it is to stay."""
        self._grace_ends: float | None = None
        self._abandoned = False
        """Rank 0 died and may be started again: nothing of the instance is removed."""
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.report_fd = -1
        """Where a detached start tells its waiting parent how it went."""

    # -- starting -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Fork what is not alive; the rest is re-attached by itself."""
        for plan in self._plans:
            private(plan.folder)
            private(plan.tmpdir)
        far = self._far_end.fileno()
        for plan in self._plans:
            if not is_held(plan.broker_lock):
                log = _log_path(plan)
                mine = replace(plan, control_fd=far) if plan.rank == 0 else plan
                keep = [far] if plan.rank == 0 else []
                self._brokers[children.fork(partial(children.run_broker, mine), keep, log)] = plan.rank
            if not is_held(plan.executor_lock):
                executor = children.fork(partial(children.run_executor, plan), [], os.devnull)
                self._executors[executor] = plan.rank
        self._far_end.close()
        self._started = set(self._brokers.values())

    @property
    def owns_root(self) -> bool:
        return 0 in self._brokers.values()

    # -- waiting --------------------------------------------------------------------------------------------

    def run(self) -> int:
        signal.set_wakeup_fd(self._wake_w)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._on_signal)
        if not self.owns_root:
            self._root_runs_elsewhere()
        poll = select.poll()
        poll.register(self._wake_r, select.POLLIN)
        if self.owns_root:
            poll.register(self._line, select.POLLIN)
        while self._brokers or self._program_pid:
            for fd, _ in poll.poll(None if self._grace_ends is None else GRACE * 1000):
                if fd == self._wake_r:
                    os.read(self._wake_r, 4096)
                    self._reap()
                elif not self._hear():
                    poll.unregister(self._line)
            self._end_stragglers()
        self._clear_up()
        return 0 if self._status is None else self._status

    def _on_signal(self, number: int, frame: object) -> None:
        if number in (signal.SIGTERM, signal.SIGHUP):
            self._signals += 1
            if self._signals > 1:
                self._end_brokers(signal.SIGKILL)
            elif self.owns_root:
                self._say(stop=True)
            else:
                self._end_brokers(signal.SIGTERM)
        elif number == signal.SIGINT and not self._program_pid:
            self._say(stop=True)

    def _say(self, **words: Any) -> None:
        with suppress(OSError):  # rank 0 has gone; its end is handled when it is reaped
            self._line.sendall(json.dumps(words).encode() + b"\n")

    def _hear(self) -> bool:
        try:
            data = self._line.recv(65536)
        except ConnectionResetError:  # it ended without having read our last words
            data = b""
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            words = json.loads(line)
            if words.get("state") == "run":
                self._root_is_up(words["uri"])
            elif "failed" in words:
                self._failed(words["failed"])
            elif "stopping" in words:
                self._stopping = True
                self._hang_up()
        return bool(data)

    def _failed(self, reason: str) -> None:
        self._report(error=reason)
        if not self._plans[0].detached and _log_path(self._plans[0]) is not None:
            print(f"fluxlike: {reason}", file=sys.stderr)  # noqa: T201  the broker itself writes to a file

    def _root_is_up(self, uri: str) -> None:
        self._report(uri=uri)
        if self._program:
            self._run_program(uri)

    def _root_runs_elsewhere(self) -> None:
        """Rank 0 lives, or is on another host: only the program, if any, is ours to run."""
        uri = next((plan.uri for plan in self._plans), "")
        self._report(uri=uri)
        if self._program:
            self._run_program(uri)

    def _run_program(self, uri: str) -> None:
        # It is not the task that the instance itself may be: an executor of this instance would end it as a stray.
        env = {name: value for name, value in environment.snapshot().items() if name not in OF_A_TASK}
        env["FLUXLIKE_URI"] = uri
        try:
            self._program_pid = os.posix_spawnp(
                self._program[0],
                self._program,
                env,
                setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
            )
        except OSError as error:
            print(f"fluxlike: cannot run {self._program[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201
            self._program_ended(127 if isinstance(error, FileNotFoundError) else 126)

    def _program_ended(self, status: int) -> None:
        self._program_pid = 0
        self._status = status
        if self.owns_root:
            self._say(program=status)

    # -- children that end ----------------------------------------------------------------------------------

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            if pid == self._program_pid:
                self._program_ended(code if code >= 0 else 128 - code)
            elif pid in self._brokers:
                self._broker_ended(self._brokers.pop(pid), code)
            else:
                self._executors.pop(pid, None)

    def _broker_ended(self, rank: int, code: int) -> None:
        if rank == 0:
            self._root_ended()
        if rank == 0 or len(self._plans) == 1:
            if self._status is None:
                self._status = code if code >= 0 else 128 - code
            if code < 0 or (rank == 0 and self._program_pid and not self._stopping):
                self._root_died(rank, code)
        elif code not in (0, children.DUPLICATE):
            print(f"fluxlike: broker {rank} ended with {_cause(code)}", file=sys.stderr)  # noqa: T201

    def _root_ended(self) -> None:
        while self._hear():  # what it said last tells how it ended
            pass
        if self._stopping:
            self._grace_ends = time.monotonic() + GRACE

    def _end_stragglers(self) -> None:
        if self._grace_ends is not None and time.monotonic() >= self._grace_ends:
            self._grace_ends = None
            _end_ranks(self._plans)

    def _root_died(self, rank: int, code: int) -> None:
        plan = self._plans[0]
        self._status = self._status or 1
        self._report(error=f"broker {rank} ended with {_cause(code)}")
        self._hang_up()
        if plan.durable:
            store = f" --store '{plan.store_name}'" if plan.settings.store.url else ""
            again = f"fluxlike start -s {plan.boot.size} --statedir {plan.statedir}{store}"
            print(  # noqa: T201
                f"fluxlike: broker {rank} ended with {_cause(code)}; its jobs go on. Start it again: {again}",
                file=sys.stderr,
            )
            self._abandoned = True
            if not plan.detached:
                # The terminal gets its prompt back; who is left belongs to the state directory now.
                self._brokers.clear()
                self._executors.clear()
        else:
            print(f"fluxlike: broker {rank} ended with {_cause(code)}", file=sys.stderr)  # noqa: T201
            self._end_brokers(signal.SIGTERM)

    def _hang_up(self) -> None:
        if self._program_pid:
            os.kill(self._program_pid, signal.SIGHUP)

    def _end_brokers(self, number: signal.Signals) -> None:
        for pid in self._brokers:
            os.kill(pid, number)

    # -- the end --------------------------------------------------------------------------------------------

    def _clear_up(self) -> None:
        """Wait for executors, then remove what the ranks had on disk; a rank that still lives keeps its own."""
        if self._abandoned:
            return
        # Without the root it is only ranks of ours: an instance goes on without us.
        plans = [plan for plan in self._plans if 0 in self._started or plan.rank in self._started]
        self._await_end(plans, GRACE)
        if self._stopping or self._throw_away is not None:
            _end_ranks(plans)
        self._await_end(plans, PATIENCE)
        for plan in plans:
            if not _lives(plan):
                remove(plan.folder)
        if self._throw_away is not None:
            remove(self._throw_away)
        elif self._plans:
            with suppress(OSError):  # not empty: ranks live there; gone: another launcher was faster
                os.rmdir(self._plans[0].rundir)

    def _await_end(self, plans: list[Plan], seconds: float) -> None:
        """Also of ranks of an earlier launcher: their end wakes nobody here, so look again now and then."""
        deadline = time.monotonic() + seconds
        while any(map(_lives, plans)) and time.monotonic() < deadline:
            if select.select([self._wake_r], [], [], 0.02)[0]:
                os.read(self._wake_r, 4096)
                self._reap()

    def _report(self, **words: Any) -> None:
        if self.report_fd >= 0:
            os.write(self.report_fd, json.dumps(words).encode())
            os.close(self.report_fd)
            self.report_fd = -1


def _lives(plan: Plan) -> bool:
    return is_held(plan.broker_lock) or is_held(plan.executor_lock)


def _end_ranks(plans: list[Plan]) -> None:
    """Tell who is left that the instance has ended: a broker that was between two parents when the others were told,
    or the executor of one that was killed. They would wait for a new parent, or a new broker."""
    for plan in plans:
        lock = plan.broker_lock if is_held(plan.broker_lock) else plan.executor_lock
        pid = holder(lock)
        if is_held(lock) and pid.isdigit():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGTERM)


def _log_path(plan: Plan) -> str | None:
    """Attached throw-away brokers may use the terminal; others outlive it."""
    if plan.durable:
        return os.path.join(plan.data, f"broker-{plan.rank}.log")
    return os.path.join(plan.folder, "broker.log") if plan.detached else None


def _cause(code: int) -> str:
    return f"status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
