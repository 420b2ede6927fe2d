"""The store on a server: PostgreSQL, by psycopg.

A server adds three things to what a file can do to us. It can go away between a commit and its answer; it can
come back with less than it had; and two brokers on different hosts can find it. So the broker that writes holds
an advisory lock, and every transaction carries a mark: who wrote it, and the how manieth of theirs it was.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import socket
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import select, text
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import OperationalError

from fluxlike.errors import ConfigError, StoreUnavailable
from fluxlike_broker.store.batch import Batch
from fluxlike_broker.store.commit import write_rows
from fluxlike_broker.store.engine import LOCK_WAIT, Database, StoreInUse
from fluxlike_broker.store.schema import OWN, state

log = logging.getLogger("fluxlike.store")

T = TypeVar("T")

MARK = OWN + "writer"

CLAIM_WAIT = 5.0
"""Seconds to wait for the lock of a broker that was killed: its server process may still be committing."""

CONNECT_WAIT = 5
"""Seconds for a connection. A host that is gone answers nothing at all."""

SILENCE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""A dead peer is noticed after 25 seconds, by either side; the default of most systems is two hours."""

SESSION = {
    "lock_timeout": f"{LOCK_WAIT:.0f}s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    **{f"tcp_{name}": str(value) for name, value in SILENCE.items()},
}
"""What a server or a role may have set otherwise, and we rely on."""

_LOCK_NOT_AVAILABLE = "55P03"
_LIMIT_EXCEEDED = "54"
"""Class of errors: the row is larger than an index or a field can be."""

_HOLDER = text(
    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory'"
    " AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (classid::bigint << 32 | objid::bigint) = :key AND objsubid = 1"
)


class PostgresqlDatabase(Database):
    """A schema on a server: the first of the connection's search path."""

    def __init__(self, url: URL) -> None:
        url = _with_driver(url)
        super().__init__(url, durable=True)
        self.name = _shown(url)
        self._password = url.password or _text(url.query.get("password"))
        self._token = secrets.token_hex(8)
        self._written = -1
        """How many transactions of ours are known to be there; -1 until we have been there at all."""
        self._unsure = False
        """There may be one more of ours than is known."""
        self._landed = False
        """And it has been found there."""

    def write(self, batch: Batch, *, replace: bool = False) -> None:
        self._twice(lambda: self._write(batch, replace))

    def ask(self, function: Callable[[Connection], T]) -> T:
        return self._twice(lambda: super(PostgresqlDatabase, self).ask(function))

    def drop(self) -> None:
        if self._connection is not None and self._is_lost():
            self._connection.invalidate()  # or closing it would try to roll back
        super().drop()

    def is_hopeless(self, error: Exception) -> bool:
        code = getattr(error, "sqlstate", None) or ""
        return super().is_hopeless(error) or code.startswith(_LIMIT_EXCEEDED)

    def _twice(self, action: Callable[[], T]) -> T:
        """A connection that was cut while nobody used it is no outage: the server may well be there."""
        fresh = self._connection is None
        try:
            return action()
        except Exception:
            if fresh or not self._is_lost():
                raise
        self.drop()
        return action()

    def _write(self, batch: Batch, replace: bool) -> None:
        connection = self.connection()
        done = self.in_doubt and self._landed  # settled by the connection that was made since
        self.in_doubt = self._landed = False
        if done:
            return
        write_rows(connection, batch, replace=replace)
        self._sign(connection, self._written + 1)
        try:
            connection.connection.commit()
        except Exception:
            self._unsure = self._is_lost()
            self.in_doubt = self._unsure and not replace  # rows that replace others may well be written twice
            raise
        self._written += 1

    def _sign(self, connection: Connection, number: int) -> None:
        mark = Batch()
        mark.put(MARK, f"{self._token} {number}")
        write_rows(connection, mark)

    def _is_lost(self) -> bool:
        connection = self._connection
        return connection is not None and (connection.invalidated or _driver(connection).closed)

    # -- a new connection -----------------------------------------------------------------------------------

    def _arguments(self, url: URL) -> dict[str, Any]:
        ours = {
            "connect_timeout": CONNECT_WAIT,
            "application_name": f"fluxlike process {os.getpid()} on {socket.gethostname()}"[:63],
            "prepare_threshold": None,  # statements differ by their number of rows
            **SILENCE,
        }
        return {name: value for name, value in ours.items() if name not in url.query}

    def _claim(self, connection: Connection) -> None:
        _set(connection, SESSION)
        kept = connection.execute(text("SELECT current_setting('synchronous_commit'), current_setting('fsync')")).one()
        if kept[0] not in ("on", "remote_apply"):
            _set(connection, {"synchronous_commit": "on"})
        if kept[1] != "on" and self._written < 0:
            log.warning("store: %s runs with fsync off: the loss of its power loses acknowledged jobs", self.name)
        connection.commit()
        schema = connection.scalar(text("SELECT current_schema()"))
        if schema is None:
            raise StoreUnavailable("none of the schemas in the connection's search_path exists; create it first")
        self._lock(connection, _lock_key(schema))
        connection.rollback()

    def _lock(self, connection: Connection, key: int) -> None:
        """Held by the session: the server lets go when the connection or this process ends."""
        if connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}):
            return
        holder = f"the store is in use by {connection.scalar(_HOLDER, {'key': key}) or 'another broker'}"
        log.warning("store: %s: %s; waiting %.0f s for it to let go", self.name, holder, CLAIM_WAIT)
        _set(connection, {"lock_timeout": f"{CLAIM_WAIT:.0f}s"})
        try:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": key})
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            raise StoreInUse(holder) from None
        _set(connection, {"lock_timeout": SESSION["lock_timeout"]})
        connection.commit()

    def _recognise(self, connection: Connection) -> None:
        if self._written < 0:
            self._sign(connection, 0)
            connection.connection.commit()
            self._written = 0
            return
        found = connection.scalar(select(state.c.value).where(state.c.key == MARK))
        connection.rollback()
        token, _, number = (found or "").partition(" ")
        if token != self._token:
            raise StoreUnavailable("another broker has taken over the store, or it was replaced; stop this one")
        if self.in_doubt and int(number) == self._written + 1:
            self._landed = True
            self._written += 1
        elif int(number) != self._written:
            raise StoreUnavailable(
                "the store has lost rows that were committed; only a restart can take it up as it is"
            )


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _set(connection: Connection, values: dict[str, str]) -> None:
    for name, value in values.items():
        connection.execute(text("SELECT set_config(:name, :value, false)"), {"name": name, "value": value})


def _lock_key(schema: str) -> int:
    """Locks are the database's, so the schema is all that tells two stores apart."""
    return int.from_bytes(hashlib.sha256(f"fluxlike store {schema}".encode()).digest()[:8], signed=True)


def _with_driver(url: URL) -> URL:
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise ConfigError(f"store {url.drivername}:...: the driver is psycopg; use postgresql+psycopg://")
    if "@" in (url.host or ""):  # the rest of a password, most likely
        raise ConfigError("store postgresql:...: write @ in a user name or a password as %40")
    try:
        import psycopg  # noqa: F401  only to see whether it is there
    except ImportError:
        raise ConfigError("PostgreSQL needs a driver: pip install 'psycopg[binary]'") from None
    return url.set(drivername="postgresql+psycopg")


def _shown(url: URL) -> str:
    """Where it is, and nothing that could be a secret."""
    host = url.host or _text(url.query.get("host"))
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{host}{port}/{url.database or ''}"


def _text(value: str | tuple[str, ...] | None) -> str:
    return value or "" if isinstance(value, str | None) else ",".join(value)
