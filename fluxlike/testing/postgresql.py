"""A PostgreSQL server of one's own, from the system's packages: no port, no password, gone afterwards."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fluxlike.testing.waiting import wait_until

if TYPE_CHECKING:
    import psycopg

HOME = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs, a folder for each version; none of them is on the usual path."""

INSTALL = "apt-get install -y --no-install-recommends postgresql"

QUIET = {
    "listen_addresses": "",
    "fsync": "off",  # the tests' data may go with the power
    "max_connections": "40",
    "shared_buffers": "32MB",
    "autovacuum": "off",
}


def programs() -> Path:
    """The folder of the newest version. Raises with the command that installs one."""
    found = [path.parent for path in HOME.glob("*/bin/postgres")]
    if not found:
        raise FileNotFoundError(f"PostgreSQL is not installed; as root: {INSTALL}")
    return max(found, key=lambda path: float(path.parent.name))


class PostgresqlServer:
    """Runs as `nobody` when we are root, because PostgreSQL refuses to be root."""

    def __init__(self, **settings: str) -> None:
        self._programs = programs()
        # Short, for the socket; and every process shows it, so that sites of system tests know it is not theirs.
        self.folder = Path(tempfile.mkdtemp(prefix="fl-pg-", dir="/tmp"))
        self._who = _unprivileged()
        if self._who:
            os.chown(self.folder, self._who["user"], self._who["group"])
        self._data = self.folder / "data"
        self._settings = {**QUIET, "unix_socket_directories": str(self.folder), "cluster_name": str(self.folder)}
        self._settings |= settings
        self._log = open(self.folder / "log", "wb")  # noqa: SIM115  open as long as the server
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(self._data), "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        self.start()

    def url(self, schema: str = "", *, socket: Path | None = None) -> str:
        """What `--store` takes. Each schema is a store of its own."""
        path = f"&options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql+psycopg://owner@/postgres?host={quote(str(socket or self.folder))}{path}"

    def new_schema(self) -> str:
        name = f"s{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return name

    def connect(self, schema: str = "") -> psycopg.Connection[tuple[Any, ...]]:
        """Every statement is committed at once."""
        import psycopg

        options = f"-csearch_path={schema}" if schema else ""
        where = f"host={self.folder} user=owner dbname=postgres"
        return psycopg.connect(where, options=options, autocommit=True)

    def execute(self, statement: str, schema: str = "") -> list[tuple[Any, ...]]:
        """One statement on a connection of its own."""
        with self.connect(schema) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def start(self) -> None:
        arguments = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        # A test run that is killed takes its server along.
        until_we_die = ["setpriv", "--pdeathsig", "QUIT"]
        command = [*until_we_die, str(self._programs / "postgres"), "-D", str(self._data), *arguments]
        self._process = subprocess.Popen(command, cwd=self.folder, stdout=self._log, stderr=self._log, **self._who)
        wait_until(self._answers, 30.0, self._last_words)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends sessions and then the server, SIGQUIT ends everything as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30.0)
            self._process = None

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        self._log.close()
        shutil.rmtree(self.folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, **self._who)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")

    def _answers(self) -> bool:
        import psycopg

        assert self._process is not None
        assert self._process.poll() is None, self._last_words()
        with suppress(psycopg.OperationalError):
            self.execute("SELECT 1")
            return True
        return False

    def _last_words(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


def _unprivileged() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
