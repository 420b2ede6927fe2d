"""Opening a database by its URL. The one place that knows a dialect by name."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from fluxlike.errors import ConfigError, StoreUnavailable
from fluxlike_broker.store import schema

LOCK_WAIT = 1.0
"""Seconds to wait for another program's lock on the database. Readers never hold one for long; whoever does
(a copy, a forgotten shell) should show up as a failed commit, not as a broker that hangs."""

PRIVATE = 0o600
"""Jobs carry environments, and environments carry secrets."""


class StoreInUse(StoreUnavailable):
    """Another broker writes to this store."""


class Database:
    """One database, held by the thread that writes to it, reopened after a failure."""

    def __init__(self, url: URL, durable: bool) -> None:
        self.name = url.render_as_string(hide_password=True)
        self._engine = create_engine(url, poolclass=NullPool, connect_args=self._arguments())
        self._durable = durable
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        """The open connection. Opens the database when there is none, and makes or checks the tables."""
        if self._connection is None:
            self._before_connect()
            connection = self._engine.connect()
            try:
                self._prepare_tables(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def check(self) -> None:
        """Raise if a commit now would go where nobody can find it again."""

    def drop(self) -> None:
        """Give up the connection and what it has not committed; the next one starts afresh."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        self.drop()
        self._engine.dispose()

    def _arguments(self) -> dict[str, Any]:
        return {}

    def _before_connect(self) -> None:
        """Claim the database for this process and see to its files."""

    def _prepare_tables(self, connection: Connection) -> None:
        if schema.is_new(connection):
            connection.rollback()
            self._begin_tables(connection)
            schema.create(connection)
            connection.commit()
        schema.check(connection)
        connection.rollback()

    def _begin_tables(self, connection: Connection) -> None:
        """Open the transaction that makes the tables, where the driver would not do so by itself."""


class SqliteDatabase(Database):
    """A file, its WAL beside it, and a lock file that says which process writes to it."""

    def __init__(self, url: URL, durable: bool) -> None:
        if not url.database or url.database == ":memory:" or url.query:
            raise ConfigError(f"store {url}: give a plain path, as in sqlite:////var/lib/fluxlike/store.sqlite")
        super().__init__(url, durable)
        self.name = self._path = os.path.abspath(url.database)
        self._lock = -1
        self._identity: tuple[int, int] | None = None
        event.listen(self._engine, "connect", self._on_connect)

    def check(self) -> None:
        # SQLite goes on writing to a file that was moved or deleted, and reports success. Another file in its
        # place lacks rows that were acknowledged; only a restart, which reads it all, may take that one up.
        if _identity(self._path) != self._identity:
            raise StoreUnavailable("the database file is gone or was replaced")

    def close(self) -> None:
        super().close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _arguments(self) -> dict[str, Any]:
        return {"timeout": LOCK_WAIT}

    def _before_connect(self) -> None:
        if self._lock < 0:
            self._lock = _claim(self._path + ".lock")
        if self._identity is None:
            _make_private(self._path)
            self._identity = _identity(self._path)
        self.check()

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


_DIALECTS: dict[str, type[Database]] = {"sqlite": SqliteDatabase}


def open_database(url: str, durable: bool) -> Database:
    """The database this URL names, not yet connected. Durable: a commit survives the loss of power."""
    try:
        parsed = make_url(url)
        kind = _DIALECTS[parsed.get_backend_name()]
    except (ArgumentError, KeyError):
        known = ", ".join(_DIALECTS)
        scheme = url.partition(":")[0]  # no more of it: a URL may carry a password
        raise ConfigError(f"store URL {scheme}:...: not a database this version supports ({known})") from None
    return kind(parsed, durable)
