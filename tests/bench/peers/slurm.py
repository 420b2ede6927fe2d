"""Slurm as Debian packages it: controller, node daemon and munge of our own on the loopback interface, an array job."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from peers.daemons import PATIENCE, daemon, free_ports, wait_until
from peers.packages import last_line, need, search_path
from peers.peer import Peer, Rate, Surroundings, Unavailable
from peers.slurm_conf import slurm_conf

SLOTS = 64
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scancel"]
PACKAGES = ["slurmctld", "slurmd", "slurm-client", "munge"]
POLL = 0.05
"""Seconds between two looks at its queue; a round takes seconds."""

STUCK = 120.0
"""Seconds after which a round is given up."""


@contextmanager
def started(where: Surroundings) -> Iterator[Rate]:
    programs = need(PROGRAMS, PACKAGES)
    if os.geteuid() != 0:
        raise Unavailable("slurmd has to be started by root")
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="sl", dir=where.scratch))
        env = {**where.env, "PATH": search_path(), "SLURM_CONF": os.path.join(directory, "slurm.conf")}
        _start(stack, programs, directory, env)
        # Interrupted or not, what it still runs must not outlive it.
        stack.callback(_drain, env)
        yield lambda count: _rate(count, env)


def _start(stack: ExitStack, programs: dict[str, str], directory: str, env: dict[str, str]) -> None:
    host = socket.gethostname().partition(".")[0]
    _write(directory, host)
    munged = [programs["munged"], "--foreground", "--force"]
    for name in ("key", "seed", "log", "pid"):
        munged.append(f"--{name}-file={directory}/munge.{name}")
    munged.append(f"--socket={directory}/munge.socket")
    log = os.path.join(directory, "munge.log")
    munge = stack.enter_context(daemon(munged, os.path.join(directory, "munge.out"), env))
    wait_until(lambda: os.path.exists(f"{directory}/munge.socket"), "munged did not come up", (munge, log))
    running = []
    for name, options in (("slurmctld", ["-D", "-i"]), ("slurmd", ["-D", "-N", host])):
        out = os.path.join(directory, f"{name}.out")
        command = [programs[name], *options, "-f", env["SLURM_CONF"]]
        running.append((stack.enter_context(daemon(command, out, env)), os.path.join(directory, f"{name}.log")))
    wait_until(lambda: _says(env, "sinfo", "-h", "-o", "%T") == "idle", "its node did not come up", *running)


def _write(directory: str, host: str) -> None:
    # munged wants every directory above its socket to be closed to other writers, and the socket to be reachable.
    os.chmod(directory, 0o755)
    for name in ("state", "spool"):
        os.mkdir(os.path.join(directory, name))
    with open(os.open(f"{directory}/munge.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(os.urandom(128))
    control, node = free_ports(2)
    with open(os.path.join(directory, "slurm.conf"), "w", encoding="ascii") as conf:
        conf.write(slurm_conf(directory, host, (control, node), SLOTS))


def _rate(count: int, env: dict[str, str]) -> float:
    words = ["sbatch", f"--array=1-{count}", "--output=/dev/null", "--error=/dev/null", "--wrap=true"]
    began = time.perf_counter()
    done = subprocess.run(words, env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"sbatch failed: {last_line(done.stderr)}")
    while _says(env, "squeue", "-h") != "":
        if time.perf_counter() - began > STUCK:
            raise Unavailable(f"{count} jobs had not ended after {STUCK:.0f} s")
        time.sleep(POLL)
    return count / (time.perf_counter() - began)


def _drain(env: dict[str, str]) -> None:
    began = time.monotonic()
    _says(env, "scancel", "--state=PENDING", "--user=root")
    _says(env, "scancel", "--user=root")
    while _says(env, "squeue", "-h") and time.monotonic() - began < STUCK:
        time.sleep(POLL)


def _says(env: dict[str, str], *words: str) -> str | None:
    """Its standard output without the ends; None when it fails, or does not reach its controller."""
    try:
        done = subprocess.run(
            words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else done.stdout.strip()


SLURM = Peer(f"Slurm array, {SLOTS} processors", started, share=0.03)
