"""Real instances for system tests: started in a place of their own, driven, killed, and searched for what is left.

A `Site` is that place. Whatever runs below it, or lies about in it, when it is closed was leaked.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fluxlike.client.blocking import Client
from fluxlike.client.results import JobRecord
from fluxlike.client.uri import socket_path
from fluxlike.config.environment import snapshot
from fluxlike.errors import FluxlikeError
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.instance import AttrGet, AttrValue, OverlayStatus, OverlayTree, ResourceNodes, ResourceStatus
from fluxlike.testing import processes
from fluxlike.testing.waiting import wait_until

FLUXLIKE = os.path.join(os.path.dirname(sys.executable), "fluxlike")

QUICK: dict[str, object] = {
    "heartbeat.period": 0.2,
    "tbon.torpid": 10,
    "tbon.lost": 20,
    "exec.kill-timeout": 0.3,
    "exec.orphan-timeout": 5,
    "broker.cleanup-timeout": 10,
    "broker.shutdown-timeout": 5,
    "resource.cores": 4,
    "resource.gpus": 0,
}
"""Short waits, but none so short that a busy machine looks dead; and the same cores on every machine."""

LOSSY: dict[str, object] = {"tbon.torpid": 0.8, "tbon.lost": 1.6, "exec.lost-grace": 1}
"""For tests in which brokers are lost."""

KEPT = ("instance.json", "curve.cert", "jobs.sqlite", "jobs.sqlite.lock", "spool", "rundir", "store")
"""What a state directory holds while no broker runs, beside the brokers' logs."""

BUGS = ("Traceback", "internal error")

Run = subprocess.CompletedProcess[Any]


class Site:
    """A private corner of the machine. Its path is short: sockets allow 107 bytes."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="fl-", dir="/tmp"))
        self.tmp = self.root / "t"
        self.tmp.mkdir()
        self.env = {name: value for name, value in snapshot().items() if not name.startswith("FLUX")}
        self.env |= {"TMPDIR": str(self.tmp), "LC_ALL": "C.UTF-8"}
        self.env["PATH"] = f"{os.path.dirname(FLUXLIKE)}:{self.env.get('PATH', os.defpath)}"
        self.instances: list[Instance] = []
        self.patience = 10.0
        """Seconds for what is on its way out when a test ends."""
        self._children: list[subprocess.Popen[Any]] = []
        self._strangers = processes.descendants(os.getpid())
        self._shared = set(os.listdir("/dev/shm"))

    def cli(self, *args: str, uri: str = "", timeout: float = 30.0, **how: Any) -> Run:
        """Run one `fluxlike` command to its end."""
        env = {**self.env, "FLUXLIKE_URI": uri} if uri else self.env
        if "input" not in how:
            how.setdefault("stdin", subprocess.DEVNULL)
        how = {"capture_output": True, "text": True, "cwd": self.root, "env": env, **how}
        return subprocess.run([FLUXLIKE, *args], timeout=timeout, check=False, **how)

    def popen(self, *args: str, uri: str = "", **how: Any) -> subprocess.Popen[Any]:
        """Start one `fluxlike` command and go on; it is ended with the site."""
        env = {**self.env, "FLUXLIKE_URI": uri} if uri else self.env
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        how = {**pipes, "text": True, "cwd": self.root, "env": env, "start_new_session": True, **how}
        child = subprocess.Popen([FLUXLIKE, *args], **how)
        self._children.append(child)
        return child

    def options(self, size: int | None = None, *, statedir: str = "", sets: Mapping[str, object] = {}) -> list[str]:
        """Options of `start`; a state directory is named relative to the site."""
        chosen = [f"-S{key}={value}" for key, value in {**QUICK, **sets}.items()]
        if size is not None:
            chosen += ["-s", str(size)]
        return [*chosen, "--statedir", str(self.root / statedir)] if statedir else chosen

    def start(
        self, size: int | None = None, *more: str, statedir: str = "", sets: Mapping[str, object] = {}
    ) -> Instance:
        """A detached instance whose nodes are all there."""
        done = self.cli("start", *self.options(size, statedir=statedir, sets=sets), "--detach", *more)
        assert done.returncode == 0, done
        instance = Instance(self, done.stdout.strip(), self.root / statedir if statedir else None)
        self.instances.append(instance)
        instance.settle()
        return instance

    def processes(self) -> set[int]:
        """Everything alive that was started under this site, or by something that was."""
        found = processes.descendants(os.getpid()) - self._strangers
        return {pid for pid in found if self._is_ours(pid)}

    def _is_ours(self, pid: int) -> bool:
        # Another site may be open at the same time; what names neither is blamed on whoever looks.
        return processes.mentions(pid, str(self.root)) or not processes.mentions(pid, "/tmp/fl-")

    def logs(self) -> str:
        # Directories of jobs come and go meanwhile; unlike rglob, a walk passes over them.
        found = [Path(folder) / name for folder, _, names in os.walk(self.root) for name in names]
        paths = sorted(path for path in found if path.match("broker*.log"))
        return "\n".join(f"--- {path}\n{path.read_text(errors='replace')}" for path in paths)

    def close(self) -> list[str]:
        """End everything; tell what was left behind, or ended badly."""
        faults = [fault for instance in self.instances for fault in instance.faults()]
        for instance in self.instances:
            instance.stop()
        for child in self._children:
            child.terminate()
        faults += self._left_processes()
        for child in self._children:
            child.communicate(timeout=10)
        faults += [f"{path} is left" for path in self._left_files()]
        shutil.rmtree(self.root, ignore_errors=True)
        return faults

    def _left_processes(self) -> list[str]:
        with suppress(AssertionError):
            wait_until(lambda: not self.processes(), timeout=self.patience)
        left = self.processes()
        faults = [f"process {processes.command(pid)} is left" for pid in sorted(left)]
        while left := self.processes():
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return faults

    def _left_files(self) -> list[str]:
        with suppress(AssertionError):
            wait_until(lambda: not self._found_files(), timeout=self.patience)
        return self._found_files()

    def _found_files(self) -> list[str]:
        found = [str(path) for path in self.tmp.glob("*")]
        found += [f"/dev/shm/{name}" for name in set(os.listdir("/dev/shm")) - self._shared if "flux" in name]
        for folder in {instance.statedir for instance in self.instances if instance.statedir}:
            logs = [path.name for path in folder.glob("broker-*.log")]
            found += [str(path) for path in folder.glob("*") if path.name not in (*KEPT, *logs)]
        return found


class Instance:
    """A running instance as a test drives it."""

    def __init__(self, site: Site, uri: str, statedir: Path | None) -> None:
        self.site = site
        self.uri = uri
        self.statedir = statedir
        self.rundir = Path(socket_path(uri)).parent.parent
        self.rank = int(Path(socket_path(uri)).parent.name)
        self.tolerated: tuple[str, ...] = ()
        """Signs of a defect in the logs that the test brings about itself."""
        self._client: Client | None = None
        self._held: dict[int, Counter[str]] | None = {}

    # -- asking ---------------------------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        if self._client is None:
            self._client = Client(self.uri)
        return self._client

    def hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def cli(self, *args: str, timeout: float = 30.0, **how: Any) -> Run:
        return self.site.cli(*args, uri=self.uri, timeout=timeout, **how)

    def ok(self, *args: str, **how: Any) -> str:
        """Standard output of a command that must succeed."""
        done = self.cli(*args, **how)
        assert done.returncode == 0, done
        return str(done.stdout)

    def popen(self, *args: str, **how: Any) -> subprocess.Popen[Any]:
        return self.site.popen(*args, uri=self.uri, **how)

    def attr(self, name: str, rank: int = 0) -> str:
        return self.client.call(AttrGet(name=name), AttrValue, rank=rank, timeout=10).value

    def broker(self, rank: int = 0) -> int:
        return int(self.attr("broker.pid", rank))

    def executor(self, rank: int = 0) -> int:
        return int(self.attr("executor.pid", rank))

    def nodes(self) -> list[dict[str, Any]]:
        return self.client.call(ResourceStatus(), ResourceNodes, timeout=10).nodes

    def tree(self) -> dict[str, Any]:
        return self.client.call(OverlayStatus(), OverlayTree, rank=0, timeout=10).tree

    def health(self) -> dict[int, str]:
        """Status of every rank."""
        found: dict[int, str] = {}
        waiting = [self.tree()]
        while waiting:
            node = waiting.pop()
            found[node["rank"]] = node["status"]
            waiting += node["children"]
        return found

    def settle(self) -> None:
        """Wait until every rank is online and its executor has reported; what they hold open now is the measure."""
        wait_until(lambda: all(node["up"] and not node["torpid"] for node in self.nodes()), show=self.nodes)
        if self._held is not None:
            ranks = range(len(self.nodes()))
            pids = [pid for rank in ranks for pid in (self.broker(rank), self.executor(rank))]
            self._held = self._descriptors(pids)

    def _descriptors(self, pids: list[int]) -> dict[int, Counter[str]]:
        """Without our own connection: counted from when the broker has let go of it."""
        pid = self.broker(self.rank)
        connected = processes.descriptors(pid)["socket"]
        self.hang_up()
        wait_until(lambda: processes.descriptors(pid)["socket"] < connected)
        return {pid: processes.descriptors(pid) for pid in pids}

    # -- jobs -----------------------------------------------------------------------------------------------

    def submit(self, *command: str, urgency: int = 16, env: Mapping[str, str] = {}, **options: Any) -> int:
        environment = {"PATH": self.site.env["PATH"], **env}
        spec = from_command(command, cwd=str(self.site.root), environment=environment, name=command[0], **options)
        return self.client.submit(spec, urgency=urgency)

    def sh(self, script: str, **options: Any) -> int:
        return self.submit("/bin/sh", "-c", script, **options)

    def wait(self, job_id: int, timeout: float = 30.0) -> JobRecord:
        return self.client.wait(job_id, timeout=timeout)

    def until(self, job_id: int, event: str, timeout: float = 20.0) -> None:
        """Wait until the job has had the event."""
        wait_until(lambda: event in self.events(job_id), timeout, lambda: self.events(job_id))

    def events(self, job_id: int) -> list[str]:
        return [event.name for event in self.client.events(job_id, follow=False)]

    def output(self, job_id: int) -> bytes:
        return b"".join(chunk.data for chunk in self.client.output(job_id, follow=False))

    # -- faults ---------------------------------------------------------------------------------------------

    def kill_broker(self, rank: int = 0) -> int:
        """kill -9, and wait until it is gone; its old process id."""
        pid = self.broker(rank)
        self.kill(pid)
        if rank == self.rank:
            self.hang_up()
        return pid

    def forget_descriptors(self) -> None:
        """The tree has changed, and with it what its brokers hold open."""
        self._held = None

    def kill(self, pid: int) -> None:
        self.forget_descriptors()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not processes.alive(pid))

    def start_rank(self, rank: int, sets: Mapping[str, object] = {}) -> Run:
        """Bring a broker of this instance back."""
        assert self.statedir is not None
        options = self.site.options(statedir=self.statedir.name, sets=sets)
        return self.site.cli("start", *options, "--rank", str(rank), "--detach")

    # -- the end --------------------------------------------------------------------------------------------

    def faults(self) -> list[str]:
        """What a test may not leave behind in an instance that goes on living."""
        self.hang_up()
        found = [f"{pid} holds {extra}" for pid in self._held or () for extra in [self._extra(pid)] if extra]
        log = self.site.logs()
        found += [f"the log of a broker has: {word}" for word in BUGS if word in log and word not in self.tolerated]
        return found

    def _extra(self, pid: int) -> Counter[str]:
        with suppress(AssertionError):
            wait_until(lambda: not self._more_than_before(pid), timeout=self.site.patience)
        return self._more_than_before(pid)

    def _more_than_before(self, pid: int) -> Counter[str]:
        assert self._held is not None
        more = processes.descriptors(pid) - self._held[pid]
        return Counter({what: count for what, count in more.items() if "/jobs.sqlite" not in what})

    def stop(self) -> None:
        """End it if it lives; a test has its own ways to look at how an instance ends."""
        self.hang_up()
        with suppress(FluxlikeError, subprocess.TimeoutExpired):
            Client(self.uri).close()
            self.cli("shutdown", "--quiet", timeout=20)
