from __future__ import annotations

import os
from pathlib import Path

import pytest

from fluxlike_executor import directory
from fluxlike_executor.directory import SPARES, JobDirectories
from fluxlike_executor.removal import STEP, Removals
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


def test_an_empty_directory_serves_the_next_job_while_others_run(tmp_path: Path) -> None:
    directories = JobDirectories()
    first = directories.make(str(tmp_path), "fone")
    before = os.stat(first).st_ino
    directories.release(first, busy=True)
    assert not os.path.exists(first)
    second = directories.make(str(tmp_path), "ftwo")
    assert os.stat(second).st_ino == before
    directories.release(second, busy=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["file", "mode", "link", "gone"])
def test_a_directory_that_was_changed_serves_no_other_job(tmp_path: Path, change: str) -> None:
    directories = JobDirectories()
    path = Path(directories.make(str(tmp_path / "base"), "fone"))
    if change == "file":
        (path / "x").touch()
    elif change == "mode":
        path.chmod(0o755)
    else:
        path.rmdir()
        if change == "link":
            (tmp_path / "elsewhere").mkdir()
            (tmp_path / "elsewhere" / "kept").touch()
            path.symlink_to(tmp_path / "elsewhere")
    directories.release(str(path), busy=True)
    assert change != "link" or (tmp_path / "elsewhere" / "kept").exists()
    assert list((tmp_path / "base").iterdir()) == []


def test_spares_are_few_and_none_is_left_when_nothing_runs(tmp_path: Path) -> None:
    directories = JobDirectories()
    paths = [directories.make(str(tmp_path), f"f{number}") for number in range(2 * SPARES)]
    for path in paths[:-1]:
        directories.release(path, busy=True)
    assert len(list(tmp_path.iterdir())) == SPARES + 1
    directories.release(paths[-1], busy=False)
    assert list(tmp_path.iterdir()) == []


def test_a_spare_does_not_replace_what_an_earlier_attempt_left(tmp_path: Path) -> None:
    directories = JobDirectories()
    directories.release(directories.make(str(tmp_path), "fone"), busy=True)
    (tmp_path / "ftwo").mkdir()
    (tmp_path / "ftwo" / "kept").touch()
    assert os.listdir(directories.make(str(tmp_path), "ftwo")) == ["kept"]
    directories.complete()
    assert os.listdir(tmp_path) == ["ftwo"]


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
