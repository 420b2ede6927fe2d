"""The tables, and which version of them a database holds."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
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

VERSION = 2
"""Counts up with every change of a table; a store written by another version is refused, never guessed at."""

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
    Column("tasks", Integer, nullable=False),
    # The first part of the eventlog: what happened before the job was committed.
    Column("log", Text, nullable=False),
)

# A part of an eventlog for each commit that brought news of the job, not a row for each event: a third of the rows.
segments = Table(
    "segments",
    metadata,
    Column("job", _Id, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("log", Text, nullable=False),
    # What was allocated, if that is among the news.
    Column("r", Text),
    # The key is the clustering order: a job's log is read in one sweep, and no second index is kept.
    sqlite_with_rowid=False,
)

# Inactive jobs. A job without a row here is active.
history = Table(
    "history",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("ended", Double, nullable=False),
    Column("result", Text, nullable=False),
    Column("userid", _Id, nullable=False),
    Column("name", Text, nullable=False),
    Column("tasks", Integer, nullable=False),
    Column("summary", LargeBinary, nullable=False),
    # The last part of the eventlog.
    Column("log", Text, nullable=False),
    Index("history_by_end", "ended", "id"),
)

# Keys of submissions: the same key again is answered with the same ids.
submissions = Table(
    "submissions",
    metadata,
    Column("key", Text, primary_key=True),
    Column("first", _Id, nullable=False),
    Column("count", Integer, nullable=False),
    Column("submitted", Double, nullable=False),
)

state = Table(
    "state",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)


class OtherSchema(StoreUnavailable):
    """The store was written by another version of this program."""


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
    if int(found) != VERSION:
        age = "a newer" if int(found) > VERSION else "an older"
        raise OtherSchema(f"the store has schema version {found}, of {age} fluxlike; this one knows {VERSION} only")
