"""A broker's side of the executor's socket (docs/rfc/003), and a place for a real executor to run in.

For system tests: it remembers everything it was told, and waits for conditions, never for a while.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
Key = tuple[int, int]


def wait_until(condition: Callable[[], object], what: Callable[[], object] = lambda: "", seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"timed out; last state: {what()}"
        select.select([], [], [], 0.005)


def spec(*command: str, **fields: Any) -> dict[str, Any]:
    return {"command": list(command), "env": {"PATH": SEARCH_PATH}, "cwd": "/", **fields}


def sh(script: str, **fields: Any) -> dict[str, Any]:
    return spec("/bin/sh", "-c", script, **fields)


def row(number: int, *, attempt: int = 1, cc: str | None = None, count: int = 1, **more: Any) -> list[Any]:
    """A job row of `start`; the digest is filled in by the driver."""
    node, nnodes, first = more.get("node", 0), more.get("nnodes", 1), more.get("first", 0)
    return [number, attempt, "", cc, node, nnodes, first, count, more.get("ntasks", count), "0-1", ""]


class ExecutorDriver:
    """The broker's end of one connection. Acknowledges as it is told to, and keeps what it received."""

    def __init__(
        self, place: ExecutorPlace, *, ack_output: bool = True, ack_results: bool = True, **hello: Any
    ) -> None:
        self.place = place
        place.drivers.append(self)
        self.ack_output = ack_output
        self.ack_results = ack_results
        self.welcome: dict[str, Any] = {}
        self.results: list[list[Any]] = []
        self.received: dict[Key, int] = {}
        """Bytes of output that came by this connection, repetitions included."""
        self.closed = False
        self._buffer = bytearray()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(place.socket)
        self.hello(**hello)

    def hello(self, **fields: Any) -> None:
        about = {
            "instance": "test",
            "rank": 3,
            "host": "node-1",
            "uri": self.place.uri,
            "tmpdir": str(self.place.tmpdir),
            "kill_timeout": 5.0,
            "orphan_timeout": 20.0,
            "userid": os.getuid(),
            "protocol": 1,
        }
        self.welcome = {}
        self.send(["hello", {**about, **fields}])
        self.until(lambda: self.welcome)

    def send(self, message: Any) -> None:
        body = msgpack.packb(message, unicode_errors="surrogateescape")
        self.raw(len(body).to_bytes(4, "big") + body)

    def raw(self, data: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # reading tells that it is gone
            self._socket.sendall(data)

    def start(self, fields: dict[str, Any], *rows: list[Any]) -> None:
        self.send(["start", {"specs": {str(hash(str(fields))): fields}, "jobs": self._named(fields, rows)}])

    @staticmethod
    def _named(fields: dict[str, Any], rows: tuple[list[Any], ...]) -> list[list[Any]]:
        return [[*r[:2], str(hash(str(fields))), *r[3:]] for r in rows]

    def run(self, fields: dict[str, Any], one: list[Any] | None = None) -> tuple[list[int], str]:
        """Starts one job and waits for its finish: statuses and error."""
        one = one or row(1)
        self.start(fields, one)
        return self.finish(one[0], one[1])

    def finish(self, number: int, attempt: int = 1) -> tuple[list[int], str]:
        self.until(lambda: self.row_of(number, "finished", attempt))
        found = self.row_of(number, "finished", attempt)
        assert found is not None
        return found[5], found[6]

    def row_of(self, number: int, kind: str, attempt: int = 1) -> list[Any] | None:
        return next((r for r in self.results if r[1:4] == [number, attempt, kind]), None)

    def pids(self, number: int) -> list[int]:
        self.until(lambda: self.row_of(number, "started"))
        found = self.row_of(number, "started")
        assert found is not None
        return list(found[5])

    def output(self, number: int, stream: str = "stdout", task: int = 0) -> bytes:
        return b"".join(data for t, s, data in self.place.spool.get((number, 1), []) if (t, s) == (task, stream))

    def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Receives until the condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            state = f"closed: {self.closed}, last results: {self.results[-5:]}, output: {self.received}"
            assert left > 0, state
            assert not self.closed, state
            self.receive(left)

    def quiet(self) -> None:
        """Until the executor has nothing more to say: it sleeps, and nothing is on the way."""
        while True:
            wait_until(lambda: self.place.sleeps(), self.place.syscall)
            if not self.receive(0):
                return

    def receive(self, seconds: float) -> bool:
        if not select.select([self._socket], [], [], seconds)[0]:
            return False
        try:
            data = self._socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        self.closed = not data
        self._buffer += data
        while len(self._buffer) >= 4 and len(self._buffer) >= 4 + int.from_bytes(self._buffer[:4], "big"):
            end = 4 + int.from_bytes(self._buffer[:4], "big")
            self._take(msgpack.unpackb(bytes(self._buffer[4:end])))
            del self._buffer[:end]
        return bool(data)

    def _take(self, message: list[Any]) -> None:
        kind, body = message
        if kind == "welcome":
            self.welcome = body
        elif kind == "results":
            self.results += body
            if self.ack_results:
                self.send(["ack", body[-1][0]])
        elif kind == "output":
            for number, attempt, _, offset, task, stream, data in body:
                self.received[number, attempt] = self.received.get((number, attempt), 0) + len(data)
                self.place.keep((number, attempt), offset, task, stream, data)
            if self.ack_output:
                self.ack_all({(r[0], r[1]) for r in body})

    def ack_all(self, keys: set[Key]) -> None:
        self.send(["output-ack", [[*key, self.place.end.get(key, 0)] for key in sorted(keys)]])

    def close(self) -> None:
        self._socket.close()


class ExecutorPlace:
    """An executor's directory, its process, and the spool that outlives any one broker."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="fx"))
        self.socket = str(self.root / "s")
        self.uri = f"local://{self.root}/broker"
        self.tmpdir = self.root / "jobs"
        self.spool: dict[Key, list[tuple[int, str, bytes]]] = {}
        self.end: dict[Key, int] = {}
        self.drivers: list[ExecutorDriver] = []
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self, *options: str, wrap: str = "", pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
        """`wrap` is shell code to run first, in the same process."""
        command = [sys.executable, "-m", "fluxlike_executor.main", "--socket", self.socket, *options]
        if wrap:
            command = ["/bin/sh", "-c", f'{wrap}; exec "$@"', "sh", *command]
        with open(self.root / "log", "ab") as log:
            process = subprocess.Popen(command, stderr=log, pass_fds=pass_fds, start_new_session=True)
        self.process = self.process or process
        return process

    def listening(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def keep(self, key: Key, offset: int, task: int, stream: str, data: bytes) -> None:
        """Spools what is new. A gap would be lost output."""
        end = self.end.get(key, 0)
        assert offset <= end, f"{key}: offset {offset} after {end}"
        new = data[end - offset :]
        if new:
            self.spool.setdefault(key, []).append((task, stream, new))
            self.end[key] = end + len(new)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def syscall(self) -> str:
        return Path(f"/proc/{self.pid}/syscall").read_text()

    def sleeps(self) -> bool:
        """Waits for events with no deadline: not a single wake-up until something happens."""
        fields = self.syscall().split()
        return len(fields) > 4 and int(fields[4], 16) & 0xFFFFFFFF == 0xFFFFFFFF

    def relatives(self) -> list[int]:
        """Every process that was started under this instance."""
        found = []
        for name in os.listdir("/proc"):
            try:
                environ = Path(f"/proc/{name}/environ").read_bytes() if name.isdigit() else b""
            except OSError:
                continue
            if self.uri.encode() in environ:
                found.append(int(name))
        return found

    def hang_up(self) -> None:
        for driver in self.drivers:
            driver.close()

    def clear(self) -> None:
        self.hang_up()
        shutil.rmtree(self.root)

    def log(self) -> str:
        return (self.root / "log").read_text()


def gone(pid: int) -> bool:
    """Dead, be it unburied."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
