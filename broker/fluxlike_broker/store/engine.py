"""Opening a database by its URL, and what every kind of database can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from fluxlike.errors import ConfigError, StoreUnavailable
from fluxlike_broker.store import schema
from fluxlike_broker.store.commit import write_rows

if TYPE_CHECKING:
    from fluxlike_broker.store.batch import Batch

T = TypeVar("T")

LOCK_WAIT = 1.0
"""Seconds to wait for another program's lock on the database. Readers never hold one for long; whoever does
(a copy, a forgotten shell) should show up as a failed commit, not as a broker that hangs."""


class StoreInUse(StoreUnavailable):
    """Another broker writes to this store."""


class Database:
    """One database, held by the thread that writes to it, reopened after a failure."""

    def __init__(self, url: URL, durable: bool) -> None:
        self.name = url.render_as_string(hide_password=True)
        self._password = url.password
        self._engine = create_engine(url, poolclass=NullPool, connect_args=self._arguments(url))
        self._durable = durable
        self._connection: Connection | None = None
        self.in_doubt = False
        """The connection broke between the last commit and its answer: its rows are there, or they are not. The
        next batch written must be the same one; then it is there once."""

    def connection(self) -> Connection:
        """The open connection. Opens the database when there is none, and makes or checks the tables."""
        if self._connection is None:
            self._before_connect()
            connection = self._engine.connect()
            try:
                self._claim(connection)
                self._prepare_tables(connection)
                self._recognise(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def write(self, batch: Batch, *, replace: bool = False) -> None:
        """Commit all rows of the batch, or none. `replace` takes rows whose key is there already, and makes
        text storable that is not."""
        connection = self.connection()
        self._check()
        write_rows(connection, batch, replace=replace)
        connection.connection.commit()

    def try_out(self, batch: Batch) -> None:
        """Raise what `write` would, and leave no trace."""
        connection = self.connection()
        try:
            write_rows(connection, batch)
        finally:
            connection.connection.rollback()

    def ask(self, function: Callable[[Connection], T]) -> T:
        connection = self.connection()
        try:
            return function(connection)
        finally:
            connection.rollback()  # a question leaves no transaction open behind it

    def is_hopeless(self, error: Exception) -> bool:
        """Is it about the rows, so that trying again cannot help?"""
        driver = self._engine.dialect.loaded_dbapi
        return isinstance(error, (driver.DataError, driver.IntegrityError, UnicodeError, OverflowError))

    def reason(self, error: Exception) -> str:
        """For logs and answers: one line, which database, and never its password."""
        # SQLAlchemy's own text carries the statement with all its parameters.
        text = str(getattr(error, "orig", None) or error) or type(error).__name__
        text = "; ".join(line.strip() for line in text.splitlines())
        return f"{self.name}: {text.replace(self._password, '***') if self._password else text}"

    def drop(self) -> None:
        """Give up the connection and what it has not committed; the next one starts afresh."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        self.drop()
        self._engine.dispose()

    def _arguments(self, url: URL) -> dict[str, Any]:
        return {}

    def _before_connect(self) -> None:
        """See to files, if there are any."""

    def _claim(self, connection: Connection) -> None:
        """Make sure that nobody else writes here, for as long as we do."""

    def _recognise(self, connection: Connection) -> None:
        """Raise if what was committed before the connection broke is not there, or others wrote meanwhile."""

    def _check(self) -> None:
        """Raise if a commit now would go where nobody can find it again."""

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


def open_database(url: str, durable: bool) -> Database:
    """The database this URL names, not yet connected. Durable: a commit survives the loss of power."""
    # Each kind brings its driver along: only the one that is used is imported.
    try:
        parsed = make_url(url)
        kind = parsed.get_backend_name()
    except (ArgumentError, ValueError):  # its text may hold the URL, and that a password
        kind = ""
    if kind == "sqlite":
        from fluxlike_broker.store.sqlite import SqliteDatabase

        return SqliteDatabase(parsed, durable)
    if kind == "postgresql":
        from fluxlike_broker.store.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(parsed)
    scheme = url.partition(":")[0]
    raise ConfigError(f"store URL {scheme}:...: not a database this version supports (sqlite, postgresql)")
