from __future__ import annotations

import os
from pathlib import Path

import pytest

from fluxlike_executor import directory
from fluxlike_executor.directory import STEP, Removals
from fluxlike_executor.spawn import find


def test_a_job_directory_is_private_and_its_base_is_made_when_missing(tmp_path: Path) -> None:
    path = directory.make(str(tmp_path / "a" / "b"), "fjob")
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert directory.make(str(tmp_path / "a" / "b"), "fjob") == path


def test_a_link_in_the_place_of_a_job_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "fjob").symlink_to(tmp_path)
    with pytest.raises(FileExistsError):
        directory.make(str(tmp_path), "fjob")


def test_a_small_tree_is_gone_at_once_and_links_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x")
    job = tmp_path / "fjob"
    (job / "deep" / "er").mkdir(parents=True)
    (job / "deep" / "link").symlink_to(tmp_path)
    (job / "deep" / "er" / "file").write_text("x")
    (job / "deep").chmod(0o500)
    removals = Removals()
    removals.add(str(job))
    assert not removals
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_large_tree_is_removed_in_steps(tmp_path: Path) -> None:
    job = tmp_path / "fjob"
    job.mkdir()
    for number in range(3 * STEP):
        (job / str(number)).touch()
    removals = Removals()
    removals.add(str(job))
    assert removals
    assert len(list(job.iterdir())) == 2 * STEP
    removals.complete()
    assert not job.exists()


def test_what_is_gone_already_needs_no_removal(tmp_path: Path) -> None:
    removals = Removals()
    removals.add(str(tmp_path / "never"))
    assert not removals


def test_a_program_is_the_first_runnable_file_of_the_search_path(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "tool").mkdir()
    (tmp_path / "two" / "tool").write_text("not to be run")
    (tmp_path / "three" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "three" / "tool").chmod(0o755)
    search = [os.fsencode(tmp_path / name) for name in ("missing", "one", "two", "three")]
    assert find(b"tool", search) == search[3] + b"/tool"
    with pytest.raises(PermissionError):
        find(b"tool", search[:3])
    with pytest.raises(FileNotFoundError):
        find(b"tool", search[:2])
