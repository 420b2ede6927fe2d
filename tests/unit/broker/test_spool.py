"""The spool: nothing twice, nothing lost, nothing half."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxlike_broker.modules.output import spool as spool_module
from fluxlike_broker.modules.output.spool import HEADER, JobSpool, read


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "spool" / "job")


@pytest.fixture
def spool(path: str) -> Iterator[JobSpool]:
    made = JobSpool(path)
    yield made
    made.close()


def texts(path: str) -> list[tuple[int, str, bytes]]:
    return read(path, 0, 1 << 20)[0]


def put(spool: JobSpool, offset: int, data: bytes, *, node: int = 0, attempt: int = 0, task: int = 0) -> int:
    return spool.write(node, attempt, offset, task, "stdout", data)


def test_output_is_read_as_it_was_written(spool: JobSpool, path: str) -> None:
    assert spool.write(0, 0, 0, 3, "stdout", b"one") == 3
    assert spool.write(0, 0, 3, 4, "stderr", b"two!") == 7
    assert texts(path) == [(3, "stdout", b"one"), (4, "stderr", b"two!")]


def test_job_without_output_has_no_file(spool: JobSpool, path: str) -> None:
    assert put(spool, 0, b"") == 0
    assert not os.path.exists(path)
    assert read(path, 0, 100) == ([], 0)


def test_file_is_for_its_owner_alone(spool: JobSpool, path: str) -> None:
    put(spool, 0, b"secret")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_repeat_is_recognised_by_its_offset(spool: JobSpool, path: str) -> None:
    put(spool, 0, b"abc")
    assert put(spool, 0, b"abc") == 3
    assert texts(path) == [(0, "stdout", b"abc")]


def test_only_the_new_part_of_an_overlap_is_kept(spool: JobSpool, path: str) -> None:
    put(spool, 0, b"abc")
    assert put(spool, 1, b"bcdef") == 6
    assert texts(path) == [(0, "stdout", b"abc"), (0, "stdout", b"def")]


def test_piece_beyond_a_gap_is_not_taken_and_the_answer_says_how_far_we_are(spool: JobSpool, path: str) -> None:
    put(spool, 0, b"abc")
    assert put(spool, 5, b"fg") == 3
    assert texts(path) == [(0, "stdout", b"abc")]
    assert put(spool, 3, b"defg") == 7


def test_nodes_and_attempts_count_for_themselves(spool: JobSpool, path: str) -> None:
    assert put(spool, 0, b"a", node=0) == 1
    assert put(spool, 0, b"bb", node=1) == 2
    assert put(spool, 0, b"ccc", node=0, attempt=1) == 3
    assert put(spool, 1, b"d", node=0) == 2
    assert [data for *_, data in texts(path)] == [b"a", b"bb", b"ccc", b"d"]


def test_spool_opened_again_goes_on_where_each_node_stood(spool: JobSpool, path: str) -> None:
    put(spool, 0, b"abc", node=0)
    put(spool, 0, b"x", node=1, attempt=1)
    spool.close()
    again = JobSpool(path)
    assert again.size == os.path.getsize(path)
    assert put(again, 0, b"abc", node=0) == 3
    assert put(again, 0, b"xy", node=1, attempt=1) == 2
    assert put(again, 0, b"z", node=1) == 1
    assert [data for *_, data in texts(path)] == [b"abc", b"x", b"y", b"z"]
    again.close()


@pytest.mark.parametrize("lost", range(1, HEADER.size + 4))
def test_half_written_record_is_cut_off_and_comes_again(spool: JobSpool, path: str, lost: int) -> None:
    put(spool, 0, b"abc")
    whole = spool.size
    put(spool, 3, b"defg")
    spool.close()
    os.truncate(path, spool.size - lost)
    assert read(path, 0, 100) == ([(0, "stdout", b"abc")], whole)
    again = JobSpool(path)
    assert os.path.getsize(path) == again.size == whole
    assert put(again, 3, b"defg") == 7
    assert [data for *_, data in texts(path)] == [b"abc", b"defg"]
    again.close()


def test_full_disk_leaves_no_half_record(spool: JobSpool, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(spool, 0, b"abc")
    real, budget = os.write, [5]

    def short_write(fd: int, data: bytes) -> int:
        if not budget[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(fd, bytes(data)[: budget[0]])
        budget[0] -= taken
        return taken

    monkeypatch.setattr(spool_module.os, "write", short_write)
    with pytest.raises(OSError, match="No space left"):
        put(spool, 3, b"defg")
    assert texts(path) == [(0, "stdout", b"abc")]
    monkeypatch.undo()
    assert put(spool, 3, b"defg") == 7
    assert [data for *_, data in texts(path)] == [b"abc", b"defg"]


def test_reading_goes_on_where_it_stopped(spool: JobSpool, path: str) -> None:
    for at in range(4):
        put(spool, at * 10, b"%010d" % at)
    first, offset = read(path, 0, 15)
    second, end = read(path, offset, 1000)
    assert [data for *_, data in (*first, *second)] == [b"%010d" % at for at in range(4)]
    assert (len(first), end) == (2, spool.size)
    assert read(path, end, 1000) == ([], end)


def test_record_larger_than_the_limit_comes_all_the_same(spool: JobSpool, path: str) -> None:
    put(spool, 0, b"x" * 100)
    assert read(path, 0, 1)[0] == [(0, "stdout", b"x" * 100)]


def test_closing_twice_is_harmless(spool: JobSpool) -> None:
    put(spool, 0, b"abc")
    spool.close()
    spool.close()
