"""Options of the test run itself, and the server that several kinds of tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fluxlike.testing.postgresql import PostgresqlServer


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write what the scenarios do now into their files; read the diff before committing it",
    )


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A server of our own. Tests take a new schema each, and leave it running."""
    server = PostgresqlServer()
    yield server
    server.close()
