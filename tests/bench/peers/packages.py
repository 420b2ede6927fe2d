"""Programs of the system that may have to be installed first."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from peers.peer import Unavailable

ALSO = ("/usr/sbin", "/sbin", "/usr/lib/postgresql/*/bin")
"""Daemons live where the PATH of most users does not lead."""

POLICY = "/usr/sbin/policy-rc.d"
NO_SERVICES = (
    "#!/bin/sh\n# Written by fluxlike's bench while it installs packages: their services are not started.\nexit 101\n"
)


def search_path() -> str:
    found = [directory for pattern in ALSO for directory in sorted(glob.glob(pattern), reverse=True)]
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *found])


def need(programs: Sequence[str], packages: Sequence[str]) -> dict[str, str]:
    """Where each program is. Missing ones are installed with apt-get by root; everybody else is told how."""
    if None in _found(programs).values():
        _install(packages)
    found = _found(programs)
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise Unavailable(f"{', '.join(missing)} not found though {' '.join(packages)} is installed")
    return {name: path for name, path in found.items() if path is not None}


def _found(programs: Sequence[str]) -> dict[str, str | None]:
    path = search_path()
    return {name: shutil.which(name, path=path) for name in programs}


def _install(packages: Sequence[str]) -> None:
    line = f"apt-get install -y --no-install-recommends {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        raise Unavailable(f"needs {' '.join(packages)}, and there is no apt-get here to install them with")
    if os.geteuid() != 0:
        raise Unavailable(f"not installed; run: sudo {line}")
    sys.stderr.write(f"bench: {line}\n")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with _services_asleep():
        for command in (["apt-get", "update", "-qq"], line.split()):
            done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"`{line}` failed: {last_line(done.stderr or done.stdout)}")


@contextmanager
def _services_asleep() -> Iterator[None]:
    """Debian starts a package's services when it is installed, unless a policy denies it; ours go by hand."""
    if os.path.exists(POLICY):
        yield
        return
    with open(POLICY, "w", encoding="ascii") as file:
        file.write(NO_SERVICES)
    os.chmod(POLICY, 0o755)
    try:
        yield
    finally:
        os.unlink(POLICY)


def last_line(text: str) -> str:
    """What a failed program said last, which is most often why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
