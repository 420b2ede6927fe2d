"""The store in a file: SQLite."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import URL, Connection

from fluxlike.errors import ConfigError, StoreUnavailable
from fluxlike_broker.store.engine import LOCK_WAIT, Database, StoreInUse

PRIVATE = 0o600
"""Jobs carry environments, and environments carry secrets."""


class SqliteDatabase(Database):
    """A file, its WAL beside it, and a lock file that says which process writes to it."""

    def __init__(self, url: URL, durable: bool) -> None:
        if not url.database or url.database == ":memory:" or url.query:
            raise ConfigError("store sqlite:...: give a plain path, as in sqlite:////var/lib/fluxlike/store.sqlite")
        super().__init__(url, durable)
        self.name = self._path = os.path.abspath(url.database)
        self._lock = -1
        self._identity: tuple[int, int] | None = None
        event.listen(self._engine, "connect", self._on_connect)

    def close(self) -> None:
        super().close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _arguments(self, url: URL) -> dict[str, Any]:
        return {"timeout": LOCK_WAIT}

    def _check(self) -> None:
        # SQLite goes on writing to a file that was moved or deleted, and reports success. Another file in its
        # place lacks rows that were acknowledged; only a restart, which reads it all, may take that one up.
        if _identity(self._path) != self._identity:
            raise StoreUnavailable("the database file is gone or was replaced")

    def _before_connect(self) -> None:
        if self._lock < 0:
            self._lock = _claim(self._path + ".lock")
        if self._identity is None:
            _make_private(self._path)
            self._identity = _identity(self._path)
        self._check()

    def _on_connect(self, driver: sqlite3.Connection, _record: object) -> None:
        try:
            if driver.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise StoreUnavailable("the file system does not support SQLite's write-ahead log")
            driver.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'OFF'}")
        except BaseException:
            driver.close()  # the pool forgets a connection that fails here
            raise

    def _begin_tables(self, connection: Connection) -> None:
        # Python's driver begins a transaction for rows only, and a crash must not leave half of the tables.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _claim(path: str) -> int:
    """Hold the lock file for as long as the returned descriptor is open; the kernel lets go if we die.

    Not a lock on the database itself: closing any descriptor of that file would drop SQLite's own locks.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        _hold(lock)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _hold(lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip()
        raise StoreInUse(f"the store is in use by process {holder or 'unknown'}") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _make_private(path: str) -> None:
    """Make the file if there is none, for its owner alone. SQLite gives the WAL the same mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    except FileExistsError:
        for name in (path, path + "-wal", path + "-shm"):
            if os.path.exists(name) and os.stat(name).st_mode & 0o077:
                os.chmod(name, PRIVATE)
