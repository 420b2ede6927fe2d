"""The reader of traces: threads that cut into each other's lines, and what it calls too early."""

from __future__ import annotations

from fluxlike.testing.strace import calls, told_too_early


def hexed(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


WAL = hexed("/state/jobs.sqlite-wal")
SOCKET = hexed("UNIX-STREAM:[77]")

WRITE = f'10 1.0 pwrite64(9<{WAL}>, "{hexed("...row 1...")}", 11, 4096) = 11'
SYNC = f"10 1.1 fdatasync(9<{WAL}>) = 0"
REPLY = f'11 1.2 sendto(12<{SOCKET}>, "{hexed("...id 1...")}", 10, 0, NULL, 0) = 10'

REPLIES = {b"row 1": b"id 1"}


def fault(*lines: str) -> str:
    return told_too_early(calls(lines), REPLIES).get(b"row 1", "")


def test_write_then_sync_then_reply_is_in_order() -> None:
    assert fault(WRITE, SYNC, REPLY) == ""


def test_reply_without_a_sync_is_too_early() -> None:
    assert fault(WRITE, REPLY) == "the reply came before the row was on disk"


def test_sync_that_began_before_the_write_does_not_cover_it() -> None:
    begun = f"10 0.9 fdatasync(9<{WAL}> <unfinished ...>"
    other = WRITE.replace("10 1.0", "12 1.0")
    ended = "10 1.1 <... fdatasync resumed>) = 0"
    assert fault(begun, other, ended, REPLY) == "the reply came before the row was on disk"


def test_sync_that_has_not_returned_when_the_reply_leaves_does_not_count() -> None:
    begun = f"10 1.1 fdatasync(9<{WAL}> <unfinished ...>"
    ended = "10 1.3 <... fdatasync resumed>) = 0"
    assert fault(WRITE, begun, REPLY, ended) == "the reply came before the row was on disk"
    assert fault(WRITE, begun, ended, REPLY) == ""


def test_sync_that_failed_does_not_count() -> None:
    failed = SYNC.replace("= 0", "= -1 EIO (Input/output error)")
    assert fault(WRITE, failed, REPLY) == "the reply came before the row was on disk"


def test_sync_of_another_file_does_not_count() -> None:
    assert fault(WRITE, SYNC.replace(WAL, hexed("/other/jobs.sqlite-wal")), REPLY) != ""


def test_reply_that_has_begun_before_the_sync_returned_is_too_early() -> None:
    begun = f'11 1.0 sendto(12<{SOCKET}>, "{hexed("...id 1...")}", 10, 0, NULL, 0 <unfinished ...>'
    ended = "11 1.2 <... sendto resumed>) = 10"
    assert fault(WRITE, begun, SYNC, ended) == "the reply came before the row was on disk"
    assert fault(WRITE, SYNC, begun, ended) == ""


def test_reply_before_the_write_is_too_early() -> None:
    assert fault(REPLY, WRITE, SYNC) == "the reply came before the row was written"


def test_first_of_several_replies_counts() -> None:
    assert fault(WRITE, REPLY, SYNC, REPLY) != ""


def test_nothing_seen_is_a_fault() -> None:
    assert fault(SYNC, REPLY) == "the row was not seen"
    assert fault(WRITE, SYNC) == "the reply was not seen"


def test_lines_about_signals_and_ends_are_passed_over() -> None:
    assert fault("10 0.1 --- SIGCHLD {si_signo=SIGCHLD} ---", WRITE, "12 1.0 +++ exited with 0 +++", SYNC, REPLY) == ""
