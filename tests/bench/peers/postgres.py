"""A PostgreSQL server of our own, from Debian's package: in a scratch directory, on a socket there, fully synced."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from peers.daemons import daemon, wait_until
from peers.packages import last_line, need, search_path
from peers.peer import Surroundings, Unavailable

ROLE = "bench"
USER = "nobody"
"""Whom it runs as when we are root, which it refuses to run as."""


@contextmanager
def postgres(where: Surroundings) -> Iterator[str]:
    """The URL of an empty database. The server and all that it wrote are gone when the block is left."""
    programs = need(["initdb", "postgres"], ["postgresql"])
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="pg", dir=where.scratch))
        identity = _identity(where.scratch, directory)
        data, log = os.path.join(directory, "data"), os.path.join(directory, "log")
        env = {"PATH": search_path(), "LC_ALL": "C.UTF-8"}
        make = [programs["initdb"], "-D", data, "-U", ROLE, "-A", "trust", "-E", "UTF8"]
        done = subprocess.run(make, env=env, cwd=directory, capture_output=True, text=True, **identity)
        if done.returncode:
            raise Unavailable(f"initdb failed: {last_line(done.stderr)}")
        command = [programs["postgres"], "-D", data, "-k", directory, "-c", "listen_addresses="]
        # SIGINT is its fast shutdown: connections are ended, not waited for.
        running = stack.enter_context(daemon(command, log, env, signal.SIGINT, identity))
        wait_until(lambda: _accepts(log), "PostgreSQL did not come up", (running, log))
        yield f"postgresql+psycopg://{ROLE}@/postgres?host={directory}"


def _identity(scratch: str, directory: str) -> dict[str, Any]:
    """As whom it runs, and its directory made theirs."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(USER)
    os.chmod(scratch, 0o711)
    os.chown(directory, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _accepts(log: str) -> bool:
    with open(log, encoding="utf-8", errors="replace") as file:
        return "ready to accept connections" in file.read()
