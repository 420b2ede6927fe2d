"""Options of the test run itself."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write what the scenarios do now into their files; read the diff before committing it",
    )
