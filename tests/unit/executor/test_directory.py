from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fluxlike_executor import directory
from fluxlike_executor.directory import SPARES, JobDirectories
from fluxlike_executor.removal import STEP, Removals
from fluxlike_executor.spawn import find


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories are old enough for their time stamps to tell whether they were touched."""
    monkeypatch.setattr(directory, "wall", lambda: time.time() + 1)


def used(directories: JobDirectories, base: Path) -> str:
    """One that a job has had and left as it was, now a spare."""
    path = directories.make(str(base))
    directories.release(path, reusable=True)
    directories.settle(clean=True)
    return path


def test_a_job_directory_is_private_and_its_base_is_made_when_missing(tmp_path: Path) -> None:
    path = JobDirectories().make(str(tmp_path / "a" / "b"))
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert os.listdir(path) == []


def test_a_base_that_is_no_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "base").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        JobDirectories().make(str(tmp_path / "base"))


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


def test_an_untouched_directory_serves_the_next_job(tmp_path: Path) -> None:
    directories = JobDirectories()
    path = used(directories, tmp_path)
    assert directories.make(str(tmp_path)) == path
    assert directories.make(str(tmp_path)) != path


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("change", ["file", "mode", "link", "gone", "anew"])
def test_a_directory_that_was_changed_serves_no_other_job(tmp_path: Path, later: None, change: str, times: int) -> None:
    """The first time only a look inside can tell, the second time its time stamp does."""
    directories = JobDirectories()
    base = tmp_path / "base"
    for _ in range(times - 1):
        used(directories, base)
    path = Path(directories.make(str(base)))
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
        elif change == "anew":
            path.mkdir(0o711)
    directories.release(str(path), reusable=True)
    directories.settle(clean=True)
    assert change != "link" or (tmp_path / "elsewhere" / "kept").exists()
    assert list(base.iterdir()) == []


def test_a_file_made_in_the_same_tick_of_the_clock_as_the_directory_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = JobDirectories()
    path = used(directories, tmp_path)
    made = os.stat(path).st_ctime_ns
    monkeypatch.setattr(directory, "wall", lambda: made / 1e9)
    assert directories.make(str(tmp_path)) == path
    (tmp_path / path / "x").touch()

    class SameTime:
        st_ctime_ns = made
        st_mode = os.stat(path).st_mode

    monkeypatch.setattr(directory.os, "lstat", lambda _: SameTime)
    directories.release(path, reusable=True)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_time_stamps_of_whole_seconds_are_not_trusted(
    tmp_path: Path, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WholeSeconds:
        st_ctime_ns = 1_700_000_000 * directory.SECOND
        st_mode = 0o40700

    directories = JobDirectories()
    with monkeypatch.context() as patch:
        patch.setattr(directory.os, "lstat", lambda _: WholeSeconds)
        path = used(directories, tmp_path)
        assert directories.make(str(tmp_path)) == path
        (tmp_path / path / "x").touch()
        directories.release(path, reusable=True)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_processes_were_left_in_serves_no_other_job(tmp_path: Path) -> None:
    directories = JobDirectories()
    directories.release(directories.make(str(tmp_path)), reusable=False)
    assert list(tmp_path.iterdir()) == []
    directories.release(directories.make(str(tmp_path)), reusable=True)
    directories.settle(clean=False)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_rests_until_it_is_certain_that_nobody_is_left_in_it(tmp_path: Path) -> None:
    directories = JobDirectories()
    path = directories.make(str(tmp_path))
    directories.release(path, reusable=True)
    assert directories.make(str(tmp_path)) != path


def test_spares_are_few_and_can_all_be_removed(tmp_path: Path) -> None:
    directories = JobDirectories()
    for path in [directories.make(str(tmp_path)) for _ in range(SPARES + 9)]:
        directories.release(path, reusable=True)
    assert len(list(tmp_path.iterdir())) == SPARES
    directories.settle(clean=True)
    directories.release(directories.make(str(tmp_path)), reusable=True)
    directories.remove_spares()
    assert list(tmp_path.iterdir()) == []


def test_a_spare_of_another_base_is_removed(tmp_path: Path) -> None:
    directories = JobDirectories()
    old = used(directories, tmp_path / "old")
    assert os.path.dirname(directories.make(str(tmp_path / "ol"))) == str(tmp_path / "ol")
    assert not os.path.exists(old)


def test_what_a_killed_executor_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left = Path(JobDirectories().make(str(tmp_path)))
    (left / "file").touch()
    (tmp_path / "other").mkdir()
    JobDirectories().remove_all(str(tmp_path))
    assert os.listdir(tmp_path) == ["other"]


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
