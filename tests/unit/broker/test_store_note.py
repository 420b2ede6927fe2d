"""A state directory and a store elsewhere: rank 0 never mixes two of them up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluxlike.errors import ConfigError
from fluxlike_broker.directories import JOBS_FILE, STORE_NOTE, belong

URL = "postgresql+psycopg://me:secret@db/jobs"
SHOWN = "postgresql+psycopg://me@db/jobs"


def test_store_elsewhere_needs_a_state_directory() -> None:
    with pytest.raises(ConfigError, match="--store needs --statedir"):
        belong(None, URL)


def test_no_store_elsewhere_leaves_no_note(tmp_path: Path) -> None:
    belong(None, "")
    belong(str(tmp_path), "")
    assert list(tmp_path.iterdir()) == []


def test_store_is_noted_without_its_password_and_recognised(tmp_path: Path) -> None:
    belong(str(tmp_path), URL)
    assert (tmp_path / STORE_NOTE).read_text() == f"{SHOWN}\n"
    belong(str(tmp_path), URL)
    belong(str(tmp_path), URL.replace("secret", "changed"))


@pytest.mark.parametrize("other", ["", "postgresql+psycopg://me@db/others"])
def test_start_with_another_store_is_told_which_one_it_was(tmp_path: Path, other: str) -> None:
    belong(str(tmp_path), URL)
    with pytest.raises(ConfigError) as caught:
        belong(str(tmp_path), other)
    assert f"start it with --store '{SHOWN}'" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_directory_with_jobs_of_its_own_takes_no_store(tmp_path: Path) -> None:
    (tmp_path / JOBS_FILE).touch()
    with pytest.raises(ConfigError, match=f"has jobs of its own, in {JOBS_FILE}"):
        belong(str(tmp_path), URL)
