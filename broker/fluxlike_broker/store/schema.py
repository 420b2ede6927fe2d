"""The tables, and which version of them a database holds."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import Connection

from fluxlike.errors import StoreUnavailable

VERSION = 1
"""Counts up with every change of a table; a store written by a newer program is refused, never guessed at."""

OWN = "store."
"""State keys with this prefix belong to the store itself."""

VERSION_KEY = OWN + "schema"

metadata = MetaData()

# Job ids need 64 bits. SQLite's INTEGER has them, and only under that name is a primary key the row id.
_Id = BigInteger().with_variant(Integer, "sqlite")

specs = Table(
    "specs",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("userid", _Id, nullable=False),
    Column("urgency", Integer, nullable=False),
    Column("flags", Text, nullable=False),
    Column("vars", Text),
    Column("submitted", Double, nullable=False),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("summary", LargeBinary),
)

events = Table(
    "events",
    metadata,
    Column("job", _Id, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("ts", Double, nullable=False),
    Column("name", Text, nullable=False),
    Column("context", Text),
    # The key is the clustering order: a job's log is read in one sweep, and no second index is kept.
    sqlite_with_rowid=False,
)

allocations = Table(
    "allocations",
    metadata,
    Column("job", _Id, primary_key=True, autoincrement=False),
    Column("r", Text, nullable=False),
)

state = Table(
    "state",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)


class NewerSchema(StoreUnavailable):
    """The store was written by a newer program than this one."""


def is_new(connection: Connection) -> bool:
    return not inspect(connection).has_table(state.name)


def create(connection: Connection) -> None:
    """Make the tables and note their version; the caller owns the transaction."""
    # Not checkfirst: a table of that name in a database without our state is somebody else's.
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(state).values(key=VERSION_KEY, value=str(VERSION)))


def check(connection: Connection) -> None:
    """Raise unless this program understands what the database holds."""
    found = connection.scalar(select(state.c.value).where(state.c.key == VERSION_KEY))
    if found is None or not str(found).isdecimal():
        raise StoreUnavailable("the database is not a fluxlike store")
    if int(found) > VERSION:
        raise NewerSchema(f"the store has schema version {found}, this program knows up to {VERSION}")
