"""A real executor process, driven over its socket (docs/rfc/003)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest

from fluxlike.testing.executor import SEARCH_PATH, gone, row, sh, spec, wait_until
from fluxlike.testing.executor import ExecutorDriver as Broker
from fluxlike.testing.executor import ExecutorPlace as Place

pytestmark = pytest.mark.system

WINDOW = 256 << 10


@pytest.fixture
def place() -> Iterator[Place]:
    """Fails a test that leaves a process, a job directory or the socket behind."""
    place = Place()
    place.launch()
    wait_until(place.listening)
    yield place
    place.hang_up()
    process = place.process
    assert process is not None
    process.terminate()
    assert process.wait(30) == 0, place.log()
    assert place.relatives() == []
    assert not place.tmpdir.exists() or list(place.tmpdir.iterdir()) == []
    assert sorted(path.name for path in place.root.iterdir() if path.name in ("s", "s.lock")) == []
    assert "internal error" not in place.log(), place.log()
    place.clear()


@pytest.fixture
def broker(place: Place) -> Broker:
    return Broker(place)


def no_signals(line: str) -> bool:
    """A mask of /proc/PID/status is empty but for 32 and 33, which the C library keeps to itself."""
    return int(line.split()[1], 16) & ~(3 << 31) == 0


# Starting


def test_a_job_reports_its_start_its_output_and_its_end(broker: Broker) -> None:
    assert broker.run(sh("echo out; echo err >&2; exit 3")) == ([3 << 8], "")
    assert broker.output(1) == b"out\n"
    assert broker.output(1, "stderr") == b"err\n"
    assert [r[0] for r in broker.results] == [1, 2]
    assert [r[3] for r in broker.results] == ["started", "finished"]
    assert abs(broker.results[0][4] - time.time()) < 60


def test_a_repeated_start_runs_the_job_once(place: Place, broker: Broker) -> None:
    job = sh(f"echo x >> {place.root}/ran; cat", stdin="pipe")
    broker.start(job, row(1))
    broker.start(job, row(1), row(1))
    broker.pids(1)
    broker.start(job, row(1))
    broker.send(["stdin", 1, 1, [], b"", True])
    broker.finish(1)
    broker.quiet()
    assert (place.root / "ran").read_text() == "x\n"
    assert len(broker.results) == 2


def test_another_attempt_of_a_job_is_another_run(place: Place, broker: Broker) -> None:
    for attempt in (1, 2):
        assert broker.run(sh(f"echo x >> {place.root}/ran"), row(1, attempt=attempt)) == ([0], "")
    assert (place.root / "ran").read_text() == "x\nx\n"


def test_tasks_see_their_environment(place: Place, broker: Broker) -> None:
    fields = spec("env", env={"PATH": SEARCH_PATH, "MINE": "{{name}}-{{task.id}}", "RAW": "{x}"}, name="job")
    broker.run(fields, row(6731191091817518, cc="9", count=2, first=2, nnodes=2, ntasks=4))
    for task in (2, 3):
        lines = broker.output(6731191091817518, task=task).decode().splitlines()
        found = dict(line.partition("=")[::2] for line in lines)
        assert os.path.dirname(found.pop("FLUX_JOB_TMPDIR")) == str(place.tmpdir)
        assert found == {
            "PATH": SEARCH_PATH,
            "MINE": f"job-{task}",
            "RAW": "{x}",
            "FLUX_JOB_ID": "ƒuZZybuNNy",
            "FLUX_JOB_ID_PATH": "/ƒuZZybuNNy",
            "FLUX_JOB_SIZE": "4",
            "FLUX_JOB_NNODES": "2",
            "FLUX_TASK_RANK": str(task),
            "FLUX_TASK_LOCAL_ID": str(task - 2),
            "FLUX_JOB_CC": "9",
            "FLUXLIKE_URI": place.uri,
        }


def test_tasks_begin_with_default_signals_a_session_and_the_working_directory(place: Place, broker: Broker) -> None:
    script = "grep -E '^Sig(Ign|Blk)' /proc/self/status; pwd; ls -l /proc/self/fd | grep -c ' -> '; ulimit -n"
    broker.run(sh(script, cwd=str(place.root)))
    blocked, ignored, cwd, descriptors, limit = broker.output(1).decode().splitlines()
    assert no_signals(blocked)
    assert no_signals(ignored)
    assert cwd == str(place.root)
    assert int(descriptors) <= 4  # three, and the one of ls itself
    own = subprocess.run(["/bin/sh", "-c", "ulimit -n"], capture_output=True, text=True, check=True).stdout
    assert limit == own.strip()
    wait_until(lambda: os.readlink(f"/proc/{place.pid}/cwd") == "/")


def test_the_program_is_found_by_the_path_of_the_job(place: Place, broker: Broker) -> None:
    tool = place.root / "tool"
    tool.write_text("echo $0 $1\n")  # no first line either: run by the shell
    tool.chmod(0o755)
    for _ in range(2):
        assert broker.run(spec("tool", "{cc}", env={"PATH": f"/bin:{place.root}"}), row(1, cc="7")) == ([0], "")
    assert broker.output(1) == f"{tool} 7\n".encode()


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        (spec("nosuchprogram"), 127, "nosuchprogram: No such file or directory"),
        (spec("/no/such/program"), 127, "/no/such/program: No such file or directory"),
        (spec("/etc/passwd"), 126, "/etc/passwd: Permission denied"),
        (spec("/etc"), 126, "/etc: Permission denied"),
        (spec("true", cwd="/no/such/place"), 126, "working directory /no/such/place: No such file or directory"),
        (spec("true", stdout="/no/such/place/out"), 126, "/no/such/place/out: No such file or directory"),
        (spec("true", stderr="/etc"), 126, "/etc: Is a directory"),
        (spec("true", stdin="/no/such/input"), 126, "/no/such/input: No such file or directory"),
        (spec(), 126, "the command is empty"),
        (spec("true", "nul\0byte"), 126, "true: embedded null byte"),
    ],
)
def test_what_cannot_start_says_why(broker: Broker, fields: dict[str, Any], status: int, text: str) -> None:
    assert broker.run(fields) == ([status << 8], f"task 0 (host node-1): {text}")
    assert broker.row_of(1, "started") is None
    assert broker.run(spec("true"), row(2)) == ([0], "")


def test_words_that_are_not_utf8_reach_the_task_and_errors_stay_readable(broker: Broker) -> None:
    assert broker.run(spec("printf", "%s", "caf\udce9")) == ([0], "")
    assert broker.output(1) == b"caf\xe9"
    _, error = broker.run(spec("/no/caf\udce9"), row(2))
    assert error == "task 0 (host node-1): /no/caf\N{REPLACEMENT CHARACTER}: No such file or directory"


def test_many_tasks_may_need_more_descriptors_than_each_of_them_is_allowed() -> None:
    place = Place()
    process = place.launch(wrap="ulimit -S -n 64")
    wait_until(place.listening)
    broker = Broker(place)
    assert broker.run(sh("ulimit -n", stdin="pipe"), row(1, count=60)) == ([0] * 60, "")
    assert {broker.output(1, task=task) for task in range(60)} == {b"64\n"}
    process.terminate()
    assert process.wait(30) == 0
    place.clear()


def test_a_start_without_its_spec_fails_that_job_only(broker: Broker) -> None:
    broker.send(["start", {"specs": {}, "jobs": [row(1)]}])
    statuses, error = broker.finish(1)
    assert statuses == [126 << 8]
    assert "lacks the spec" in error


def test_tasks_of_a_job_are_ended_when_one_of_them_cannot_start(place: Place, broker: Broker) -> None:
    (place.root / "0.sh").write_text("#!/bin/sh\nsleep 1000\n")
    (place.root / "0.sh").chmod(0o755)
    statuses, error = broker.run(spec("./{{task.id}}.sh", cwd=str(place.root)), row(1, count=3))
    assert statuses == [signal.SIGKILL, 127 << 8, 127 << 8]
    assert error == "task 1 (host node-1): ./1.sh: No such file or directory"


# Ending


def test_a_signal_right_behind_the_start_reaches_the_tasks(broker: Broker) -> None:
    broker.start(spec("sleep", "1000"), row(1, count=2))
    broker.send(["signal", [[1, 1, signal.SIGKILL], [99, 1, signal.SIGKILL]]])
    assert broker.finish(1) == ([signal.SIGKILL] * 2, "")


def test_a_signal_reaches_what_an_ended_task_left_running(broker: Broker) -> None:
    leaver = "(trap 'echo got; exit' USR1; echo ready; while :; do sleep 0.01; done) & exit 0"
    stayer = "trap '' USR1; echo ready; cat"
    broker.start(sh(f"if [ $FLUX_TASK_RANK = 0 ]; then {leaver}; fi; {stayer}", stdin="pipe"), row(1, count=2))
    broker.until(lambda: broker.output(1) == broker.output(1, task=1) == b"ready\n")
    broker.send(["signal", [[1, 1, signal.SIGUSR1]]])
    broker.until(lambda: broker.output(1) == b"ready\ngot\n")
    broker.send(["stdin", 1, 1, [], b"", True])
    assert broker.finish(1) == ([0, 0], "")


def test_the_kill_sequence_ends_what_ignores_sigterm(broker: Broker) -> None:
    broker.hello(kill_timeout=0.2)
    broker.start(sh("trap '' TERM; echo ready; while :; do sleep 1000; done"), row(1))
    broker.start(spec("sleep", "1000"), row(2))
    broker.until(lambda: broker.output(1))
    begun = time.monotonic()
    broker.send(["kill", [[1, 1, signal.SIGTERM], [2, 1, signal.SIGTERM]]])
    assert broker.finish(2) == ([signal.SIGTERM], "")
    assert broker.finish(1) == ([signal.SIGKILL], "")
    assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize("escape", ["", "setsid"], ids=["same-group", "own-session"])
def test_a_grandchild_that_keeps_the_pipe_does_not_hang_the_job(broker: Broker, escape: str) -> None:
    broker.start(spec("sleep", "1000"), row(2))
    assert broker.run(sh(f"echo before; {escape} sleep 1000 & echo $!")) == ([0], "")
    before, pid = broker.output(1).split()
    assert before == b"before"
    wait_until(lambda: gone(int(pid)))
    assert broker.row_of(2, "finished") is None
    broker.send(["signal", [[2, 1, signal.SIGKILL]]])
    broker.finish(2)


def test_a_stray_that_never_stops_writing_does_not_hang_the_job(broker: Broker) -> None:
    assert broker.run(sh("setsid sh -c 'while :; do echo y; done' & exit 0")) == ([0], "")


def test_a_daemon_lives_as_long_as_its_own_job_and_no_longer(broker: Broker) -> None:
    broker.start(sh("setsid sh -c 'sleep 1000 & echo $!; exec >&-; wait' & wait; cat", stdin="pipe"), row(1))
    broker.start(sh("(setsid sleep 1000 >&- & echo $!); cat", stdin="pipe"), row(2))
    broker.until(lambda: broker.output(1) and broker.output(2))
    daemons = [int(broker.output(1)), int(broker.output(2))]
    broker.run(spec("true"), row(3))
    broker.quiet()
    assert [gone(pid) for pid in daemons] == [False, False]
    broker.send(["stdin", 2, 1, [], b"", True])
    broker.finish(2)
    wait_until(lambda: gone(daemons[1]))
    assert not gone(daemons[0])
    broker.send(["kill", [[1, 1, signal.SIGTERM]]])
    broker.finish(1)
    wait_until(lambda: gone(daemons[0]))


def test_exit_leaves_nothing_of_any_job(place: Place, broker: Broker) -> None:
    stubborn = "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 1000 & echo $$; wait\" & sleep 1000"
    broker.start(sh(f"touch $FLUX_JOB_TMPDIR/x; {stubborn}; sleep 1000"), row(1, count=2))
    broker.start(sh("env -i setsid sleep 1000 & wait"), row(2))
    broker.until(lambda: broker.output(1) and broker.output(1, task=1))
    broker.send(["exit"])
    broker.until(lambda: broker.closed)
    assert broker.row_of(1, "finished") is not None
    assert place.process is not None
    assert place.process.wait(30) == 0
    assert place.relatives() == []
    assert not os.path.exists(place.socket)


def test_tasks_end_when_no_broker_comes_back(place: Place) -> None:
    broker = Broker(place, orphan_timeout=0.3)
    broker.start(spec("sleep", "1000"), row(1))
    [pid] = broker.pids(1)
    broker.close()
    assert place.process is not None
    assert place.process.wait(30) == 0
    assert gone(pid)
    assert "no broker has come" in place.log()


def test_an_executor_nobody_greets_goes_away() -> None:
    place = Place()
    process = place.launch("--orphan-timeout", "0.1")
    assert process.wait(30) == 0
    assert [path.name for path in place.root.iterdir()] == ["log"]
    place.clear()


def test_an_executor_whose_starter_dies_before_any_greeting_goes_away() -> None:
    place = Place()
    read, write = os.pipe()
    process = place.launch("--parent-fd", str(read), pass_fds=(read,))
    wait_until(place.listening)
    os.close(read)
    os.close(write)
    assert process.wait(30) == 0
    place.clear()


def test_a_second_executor_on_the_same_socket_says_so_and_leaves(place: Place, broker: Broker) -> None:
    assert place.launch().wait(30) == 3
    assert f"served by another executor, process {place.pid}" in place.log()
    assert broker.run(spec("true")) == ([0], "")


# Results and output across connections


def test_results_come_again_until_they_are_acknowledged(place: Place) -> None:
    first = Broker(place, ack_results=False)
    first.run(spec("true"))
    first.start(spec("sleep", "1000"), row(2))
    first.pids(2)
    first.close()
    second = Broker(place, ack_results=False)
    assert second.welcome["epoch"] == first.welcome["epoch"]
    assert sorted(second.welcome["jobs"]) == [[1, 1, "finished"], [2, 1, "running"]]
    second.until(lambda: len(second.results) == 3)
    assert second.results == first.results
    second.send(["ack", 2])
    third = Broker(place)
    third.until(lambda: third.results)
    assert third.welcome["jobs"] == [[2, 1, "running"]]
    assert [r[0] for r in third.results] == [3]
    third.quiet()
    third.hello()
    third.quiet()
    assert len(third.results) == 1
    second.until(lambda: second.closed)


def test_a_fast_writer_waits_until_its_output_is_acknowledged(place: Place) -> None:
    broker = Broker(place, ack_output=False)
    broker.start(sh("yes | head -c 50000000"), row(1))
    broker.until(lambda: broker.received.get((1, 1), 0) >= WINDOW)
    broker.quiet()
    assert broker.received == {(1, 1): WINDOW}
    broker.ack_output = True
    broker.ack_all({(1, 1)})
    assert broker.finish(1) == ([0], "")
    assert broker.output(1) == b"y\n" * 25_000_000
    assert broker.received == {(1, 1): 50_000_000}


def test_output_is_sent_again_from_the_acknowledged_offset(place: Place) -> None:
    first = Broker(place, ack_output=False)
    first.start(sh("i=0; while [ $i -lt 60000 ]; do echo $i; i=$((i+1)); done; echo end >&2"), row(1))
    first.until(lambda: first.received.get((1, 1), 0) >= WINDOW)
    first.send(["output-ack", [[1, 1, 1000]]])
    first.until(lambda: first.received[1, 1] >= WINDOW + 1000)
    first.quiet()
    assert first.received == {(1, 1): WINDOW + 1000}
    place.end[1, 1] = 1000  # all else died with the first broker
    place.spool[1, 1] = [(0, "stdout", first.output(1)[:1000])]
    first.close()
    second = Broker(place, ack_output=False)
    second.until(lambda: second.received.get((1, 1), 0) >= WINDOW)
    second.quiet()
    assert second.received == {(1, 1): WINDOW}
    second.ack_output = True
    second.ack_all({(1, 1)})
    second.finish(1)
    assert second.output(1) == b"".join(b"%d\n" % n for n in range(60000))
    assert second.output(1, "stderr") == b"end\n"


def test_a_job_runs_on_without_a_broker_and_tells_the_next(place: Place) -> None:
    first = Broker(place)
    first.start(sh(f"while [ ! -e {place.root}/go ]; do sleep 0.01; done; seq 10000; exit 2"), row(1))
    first.pids(1)
    first.close()
    (place.root / "go").touch()
    wait_until(lambda: not list(place.tmpdir.iterdir()))
    second = Broker(place)
    assert second.finish(1) == ([2 << 8], "")
    assert second.output(1) == b"".join(b"%d\n" % n for n in range(1, 10001))
    second.quiet()
    second.hello()
    assert second.welcome["jobs"] == []


def test_a_newer_greeting_replaces_the_older_connection(place: Place, broker: Broker) -> None:
    newer = Broker(place)
    broker.until(lambda: broker.closed)
    assert newer.run(spec("true")) == ([0], "")


def test_a_transient_command_dies_with_its_connection(place: Place) -> None:
    first = Broker(place)
    assert first.run(sh("echo hi; echo ${FLUX_JOB_ID-none}"), row(-1)) == ([0], "")
    assert first.output(-1) == b"hi\nnone\n"
    first.start(sh("yes"), row(-2))
    [pid] = first.pids(-2)
    first.close()
    wait_until(lambda: gone(pid))
    second = Broker(place)
    second.quiet()
    assert (second.welcome["jobs"], second.results, second.received) == ([], [], {})


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff\xff\xff", b"\x04\x00\x00\x01", b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x01\xc1", b"\x00\x00\x00\x00"],
    ids=["huge", "just-over", "http", "not-msgpack", "empty"],
)
def test_garbage_closes_its_own_connection_only(place: Place, broker: Broker, data: bytes) -> None:
    stranger = socket.socket(socket.AF_UNIX)
    stranger.connect(place.socket)
    stranger.sendall(data)
    assert stranger.recv(1) == b""
    stranger.close()
    assert broker.run(spec("true")) == ([0], "")


@pytest.mark.parametrize(
    "message",
    [["nonsense"], ["start", 5], ["start", {"jobs": [[1]]}], ["kill", [[1, 1, 900]]], ["ack", "x"], ["hello", {}]],
)
def test_a_malformed_message_closes_the_connection_and_harms_no_job(place: Place, message: list[Any]) -> None:
    first = Broker(place)
    first.start(spec("cat", stdin="pipe"), row(1))
    first.pids(1)
    first.send(message)
    first.until(lambda: first.closed)
    second = Broker(place)
    second.send(["stdin", 1, 1, [], b"still here", True])
    assert second.finish(1) == ([0], "")
    assert second.output(1) == b"still here"


def test_nothing_is_done_for_a_connection_that_did_not_say_hello(place: Place) -> None:
    stranger = socket.socket(socket.AF_UNIX)
    stranger.connect(place.socket)
    body = msgpack.packb(["exit"])
    stranger.sendall(len(body).to_bytes(4, "big") + body)
    assert stranger.recv(1) == b""
    stranger.close()
    assert Broker(place).run(spec("true")) == ([0], "")


# Input and files


def test_input_goes_to_the_named_tasks_and_ends_where_it_is_told_to(broker: Broker) -> None:
    broker.start(sh("echo $(wc -c)", stdin="pipe"), row(1, count=3, first=4))
    big = b"x" * 3_000_000
    broker.send(["stdin", 1, 1, [5], big, False])
    broker.send(["stdin", 1, 1, [4], b"ab", True])
    broker.send(["stdin", 1, 1, [], b"c", True])
    assert broker.finish(1) == ([0, 0, 0], "")
    assert [broker.output(1, task=task) for task in (4, 5, 6)] == [b"2\n", b"3000001\n", b"1\n"]


def test_input_that_nobody_reads_is_no_error(broker: Broker) -> None:
    broker.start(sh("exec <&-; echo closed; sleep 0.1", stdin="pipe"), row(1))
    broker.until(lambda: broker.output(1))
    broker.send(["stdin", 1, 1, [], b"x" * 200_000, False])
    broker.send(["stdin", 1, 1, [], b"x", True])
    assert broker.finish(1) == ([0], "")


def test_input_may_come_from_a_file(place: Place, broker: Broker) -> None:
    (place.root / "in").write_text("from a file\n")
    broker.run(spec("cat", stdin="in", cwd=str(place.root)))
    assert broker.output(1) == b"from a file\n"


def test_output_goes_to_a_file_beside_the_job_and_errors_follow_it(place: Place, broker: Broker) -> None:
    (place.root / "flux-ƒuZZybuNNy.out").write_text("old\n")
    job = sh("echo out; echo err >&2", stdout="flux-{{id}}.out", cwd=str(place.root))
    broker.run(job, row(6731191091817518, count=2))
    broker.run(job | {"stderr": "{{task.id}}.err", "append": True}, row(6731191091817518, attempt=2))
    assert sorted((place.root / "flux-ƒuZZybuNNy.out").read_text().split()) == ["err", "err", "out", "out", "out"]
    assert (place.root / "0.err").read_text() == "err\n"
    assert place.spool == {}


def test_a_file_shared_by_nodes_is_emptied_by_the_first_only(place: Place, broker: Broker) -> None:
    (place.root / "out").write_text("of the first node\n")
    (place.root / "out.1").write_text("old\n")
    fields = {"cwd": str(place.root), "stdout": "out", "stderr": "out.{{node.id}}"}
    broker.run(sh("echo second; echo alone >&2", **fields), row(1, node=1, nnodes=2, first=1, ntasks=2))
    assert (place.root / "out").read_text() == "of the first node\nsecond\n"
    assert (place.root / "out.1").read_text() == "alone\n"


def test_labelled_lines_say_which_task_wrote_them(place: Place, broker: Broker) -> None:
    job = sh("printf 'a\\nb'; echo e >&2", stdout="out", label=True, cwd=str(place.root))
    assert broker.run(job, row(1, count=2, first=3)) == ([0, 0], "")
    lines = (place.root / "out").read_text().splitlines()
    assert sorted(lines) == ["3: a", "3: b", "3: e", "4: a", "4: b", "4: e"]


def test_a_named_pipe_without_a_reader_does_not_stop_the_executor(place: Place, broker: Broker) -> None:
    os.mkfifo(place.root / "fifo")
    statuses, error = broker.run(sh("echo x", stdout=str(place.root / "fifo")))
    assert statuses == [126 << 8]
    assert f"{place.root}/fifo: No such device or address" in error


def test_the_directory_of_a_job_is_private_and_goes_with_it(place: Place, broker: Broker) -> None:
    broker.run(sh("stat -c %a $FLUX_JOB_TMPDIR; mkdir -p $FLUX_JOB_TMPDIR/a/b; touch $FLUX_JOB_TMPDIR/a/f; exit 1"))
    assert broker.output(1) == b"700\n"
    assert list(place.tmpdir.iterdir()) == []


def test_a_directory_that_nobody_touched_serves_later_jobs_and_is_soon_gone(place: Place, broker: Broker) -> None:
    seen: set[bytes] = set()
    number = 0
    while len(seen) == number:
        number += 1
        broker.run(sh("echo $FLUX_JOB_TMPDIR"), row(number))
        seen.add(broker.output(number))
    wait_until(lambda: list(place.tmpdir.iterdir()) == [])


def test_every_job_finds_its_directory_empty(broker: Broker) -> None:
    script = "ls -A $FLUX_JOB_TMPDIR; test {cc} = 0 || touch $FLUX_JOB_TMPDIR/{cc}"
    for batch in range(40):
        broker.start(sh(script), *(row(n, cc=str(batch % 3)) for n in range(8 * batch, 8 * batch + 8)))
        broker.until(lambda: len(broker.results) == 16 * (batch + 1))  # noqa: B023  called at once
        assert broker.received == {}


def test_a_directory_is_not_passed_on_while_a_stray_could_write_there(place: Place, broker: Broker) -> None:
    broker.start(spec("sleep", "1000"), row(1))
    escape = (
        f"setsid sh -c 'touch {place.root}/up; exec sleep 1000' & while [ ! -e {place.root}/up ]; do sleep 0.01; done"
    )
    broker.run(sh(f"{escape}; echo $FLUX_JOB_TMPDIR"), row(2))
    directory = broker.output(2).strip()
    for number in range(3, 30):
        broker.run(sh("echo $FLUX_JOB_TMPDIR"), row(number))
        assert broker.output(number).strip() != directory
    wait_until(lambda: not os.path.exists(directory))
    broker.send(["kill", [[1, 1, signal.SIGTERM]]])
    broker.finish(1)


# Null mode


@pytest.fixture
def null() -> Iterator[Place]:
    place = Place()
    process = place.launch("--mode", "null")
    wait_until(place.listening)
    yield place
    place.hang_up()
    process.terminate()
    assert process.wait(30) == 0, place.log()
    place.clear()


def test_in_null_mode_jobs_end_well_and_nothing_is_run(null: Place) -> None:
    first = Broker(null, ack_results=False)
    job = sh(f"echo out; touch {null.root}/ran; exit 1")
    assert first.run(job, row(1, count=2)) == ([0, 0], "")
    first.start(job, row(1, count=2), row(2))
    first.send(["kill", [[1, 1, signal.SIGTERM], [77, 1, signal.SIGTERM]]])
    first.finish(2)
    first.close()
    second = Broker(null)
    assert sorted(second.welcome["jobs"]) == [[1, 1, "finished"], [2, 1, "finished"]]
    second.until(lambda: len(second.results) == 4)
    assert second.results == first.results
    second.quiet()
    second.hello()
    assert second.welcome["jobs"] == []
    assert second.received == {}
    assert not (null.root / "ran").exists()
    assert not null.tmpdir.exists()


# Many


def test_a_thousand_short_jobs_leave_nothing_behind(place: Place, broker: Broker) -> None:
    broker.run(spec("true"), row(5000))
    broker.quiet()
    before = place.descriptors()
    broker.start(sh("echo $FLUX_JOB_CC"), *(row(n, cc=str(n)) for n in range(1, 1001)))
    broker.until(lambda: len(broker.results) == 2002)
    assert [broker.output(n) for n in range(1, 1001)] == [b"%d\n" % n for n in range(1, 1001)]
    assert all(r[5] == [0] for r in broker.results if r[3] == "finished")
    assert [r[0] for r in broker.results] == list(range(1, 2003))
    broker.quiet()
    assert place.descriptors() == before
    broker.hello()
    assert broker.welcome["jobs"] == []


def test_descriptors_are_returned_whatever_the_jobs_did(place: Place, broker: Broker) -> None:
    broker.run(spec("true"), row(100))
    broker.quiet()
    before = place.descriptors()
    broker.run(spec("nosuchprogram", stdin="pipe"), row(1, count=2))
    broker.run(sh("exec >&-; exit 1"), row(2, count=3))
    broker.run(sh("echo x", stdout=f"{place.root}/o.{{{{taskid}}}}", label=True, stdin="pipe"), row(3, count=4))
    broker.run(spec("true", stdout=str(place.root), stdin="/etc/passwd"), row(4))
    broker.start(sh("sleep 1000 & sleep 1000", stdin="pipe"), row(5, count=2))
    broker.send(["kill", [[5, 1, signal.SIGTERM]]])
    broker.finish(5)
    broker.quiet()
    assert place.descriptors() == before


def test_the_executor_can_be_forked_from_a_larger_program() -> None:
    place = Place()
    script = """
import os, signal, sys
from fluxlike_executor.main import serve
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
read, write = os.pipe()
if not (pid := os.fork()):
    os._exit(serve(sys.argv[1], 20.0, close=[write]))
os.close(write)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    launcher = subprocess.Popen([sys.executable, "-c", script, place.socket], stderr=subprocess.PIPE)
    wait_until(place.listening)
    broker = Broker(place)
    broker.run(sh("grep SigIgn /proc/self/status"))
    assert no_signals(broker.output(1).decode())
    os.kill(broker.welcome["pid"], signal.SIGTERM)
    assert launcher.communicate(timeout=30)[1] == b""
    assert launcher.returncode == 0
    assert not os.path.exists(place.socket)
    place.clear()
