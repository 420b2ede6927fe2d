"""HyperQueue, from PyPI into an environment of its own: one server, one worker with 64 slots, no journal.

Not called like the package: its driver runs in this directory and must import the real one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from peers.packages import last_line
from peers.peer import Peer, Rate, Surroundings, Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), ".venv-peers")
SLOTS = 64
PATIENCE = 20.0


@contextmanager
def started(where: Surroundings) -> Iterator[Rate]:
    python = _environment(where.env)
    with tempfile.TemporaryDirectory(prefix="hq", dir=where.scratch) as home, _logs(home) as log:
        command = [python, os.path.join(HERE, "hq_driver.py"), str(SLOTS)]
        # It keeps its server's directory in TMPDIR, and each task's output in the working directory.
        env = {**where.env, "TMPDIR": home, "HOME": home}
        driver = subprocess.Popen(
            command,
            cwd=home,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        try:
            yield lambda count: _asked(driver, count, log)
        finally:
            _stop(driver)


def _asked(driver: subprocess.Popen[str], count: int, log: IO[str]) -> float:
    assert driver.stdin is not None
    assert driver.stdout is not None
    try:
        driver.stdin.write(f"{count}\n")
        driver.stdin.flush()
    except BrokenPipeError:
        pass
    for line in driver.stdout:
        if line.startswith("rate "):
            return float(line.split()[1])
    log.seek(0)
    raise Unavailable(f"HyperQueue ended: {last_line(log.read())}")


def _stop(driver: subprocess.Popen[str]) -> None:
    """It goes when nothing more is asked."""
    assert driver.stdin is not None
    assert driver.stdout is not None
    try:
        driver.stdin.close()
        driver.wait(PATIENCE)
    except (BrokenPipeError, subprocess.TimeoutExpired):
        driver.kill()
        driver.wait()
    driver.stdout.close()


@contextmanager
def _logs(directory: str) -> Iterator[IO[str]]:
    with open(os.path.join(directory, "log"), "w+", encoding="utf-8") as file:
        yield file


def _environment(env: dict[str, str]) -> str:
    """Its Python. Made when it is missing; the stamp comes last, so that half of one is made anew."""
    python, stamp = os.path.join(VENV, "bin", "python"), os.path.join(VENV, ".hyperqueue")
    if os.path.exists(stamp):
        return python
    sys.stderr.write(f"bench: installing HyperQueue into {VENV}\n")
    make = [sys.executable, "-m", "venv", "--clear", VENV]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "hyperqueue"]
    for command in (make, install):
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"`{' '.join(command[1:])}` failed: {last_line(done.stderr)}")
    with open(stamp, "w", encoding="ascii"):
        return python


HYPERQUEUE = Peer(f"HyperQueue, {SLOTS} slots", started)
