"""`run` and the attach engine under it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fluxlike.errors import InvalidRequest, Unsatisfiable
from fluxlike.protocol.jobs import (
    JobEvents,
    JobEventsReply,
    JobKill,
    JobList,
    JobListed,
    JobRaise,
    JobStdin,
    JobsTouched,
    OutputRead,
    OutputReadReply,
    Submit,
)
from fluxlike.testing.fake_broker import PATIENCE, FakeBroker
from fluxlike.testing.records import job_record
from tests.unit.cli.conftest import BEGINNING, JOB, JOB_TEXT, Command, life, play

Process = Callable[..., "subprocess.Popen[bytes]"]


class Stage:
    """A job whose events and output the test gives one by one; requests for more wait, as a broker's do."""

    def __init__(self, broker: FakeBroker) -> None:
        self.events: list[list[Any]] = []
        self.output: list[list[Any]] = []
        self.over = False
        self._changed = threading.Condition()
        broker.on(JobEvents, self._tell)
        broker.on(OutputRead, self._read)
        broker.on(JobStdin, lambda request: None)
        broker.on(JobKill, lambda request: JobsTouched(ids=request.ids, errors=[]))
        broker.on(JobRaise, lambda request: JobsTouched(ids=request.ids, errors=[]))

    def tell(self, *events: list[Any]) -> None:
        with self._changed:
            self.events += events
            self._changed.notify_all()

    def write(self, *records: list[Any]) -> None:
        with self._changed:
            self.output += records
            self._changed.notify_all()

    def end(self, status: int = 0) -> None:
        self.tell(*life(status)[len(self.events) :])
        with self._changed:
            self.over = True
            self._changed.notify_all()

    def _tell(self, request: JobEvents) -> JobEventsReply:
        with self._changed:
            self._changed.wait_for(lambda: self.over or len(self.events) > request.since, PATIENCE)
            return JobEventsReply(events=self.events[request.since :], next=len(self.events), done=self.over)

    def _read(self, request: OutputRead) -> OutputReadReply:
        with self._changed:
            self._changed.wait_for(lambda: self.over or len(self.output) > request.offset, PATIENCE)
            return OutputReadReply(records=self.output[request.offset :], next=len(self.output), done=self.over)


@pytest.fixture
def stage(broker: FakeBroker) -> Stage:
    return Stage(broker)


RUNNING = life()[:6]


@pytest.mark.parametrize(("status", "code"), [(0, 0), (3 << 8, 3), (15, 143), (127 << 8, 127)])
def test_the_exit_code_is_the_job_s(broker: FakeBroker, fluxlike: Command, status: int, code: int) -> None:
    play(broker, life(status))
    assert fluxlike("run", "app").code == code


def test_output_goes_to_the_stream_it_was_written_to(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[0, "stdout", b"out\n"], [0, "stderr", b"err\n"], [0, "stdout", b"half"]])
    result = fluxlike("run", "app")
    assert (result.out, result.err) == ("out\nhalf", "err\n")


def test_lines_are_labelled_with_the_task(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[1, "stdout", b"a"], [0, "stdout", b"b\nc\n"], [1, "stdout", b"d\n"]])
    assert fluxlike("run", "-n2", "-l", "app").out == "0: b\n0: c\n1: ad\n"


def test_tasks_do_not_write_into_each_others_lines(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[1, "stdout", b"a"], [0, "stdout", b"b\n"], [1, "stdout", b"c\n"]])
    assert fluxlike("run", "-n2", "app").out == "b\nac\n"


def test_unbuffered_output_comes_as_it_was_written(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[1, "stdout", b"a"], [0, "stdout", b"b\n"]])
    assert fluxlike("run", "-n2", "-u", "app").out == "ab\n"


def test_a_program_that_is_not_there_gives_127_and_the_reason(broker: FakeBroker, fluxlike: Command) -> None:
    note = "nosuchprogram: No such file or directory"
    events = life(127 << 8)
    events.insert(5, [1.55, "exception", {"type": "exec", "severity": 0, "note": note}])
    play(broker, events)
    result = fluxlike("run", "nosuchprogram")
    assert (result.code, result.err) == (127, f"fluxlike: {JOB_TEXT}: exec: {note}\n")


def test_a_refused_submit_is_one_line_and_status_one(broker: FakeBroker, fluxlike: Command) -> None:
    def refuse(request: Submit) -> None:
        raise Unsatisfiable("99 nodes asked for, there are 2")

    broker.on(Submit, refuse)
    result = fluxlike("run", "-N99", "app")
    assert (result.code, result.err) == (1, "fluxlike: 99 nodes asked for, there are 2\n")


def test_verbose_tells_the_id_and_then_the_events(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life())
    assert fluxlike("run", "-v", "app").err == f"jobid: {JOB_TEXT}\n"
    assert "finish status=0" in fluxlike("run", "-vv", "app").err


def test_without_input_of_ours_the_job_gets_none(
    broker: FakeBroker, fluxlike: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(broker, life())
    fluxlike("run", "app")  # under pytest, standard input is /dev/null
    assert "shell" not in broker.seen(Submit)[0].specs[0]["attributes"]["system"]


def test_standard_input_is_forwarded_and_ended(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "cat")
    assert child.stdin is not None
    child.stdin.write(b"hello\n")
    child.stdin.close()
    child.stdin = None
    stage.tell(*RUNNING)
    broker.wait_until(lambda: any(request.eof for request in broker.seen(JobStdin)))
    stage.end()
    child.communicate()
    assert child.returncode == 0
    options = broker.seen(Submit)[0].specs[0]["attributes"]["system"]["shell"]["options"]
    assert options == {"input": {"stdin": "pipe"}}
    assert b"".join(request.data for request in broker.seen(JobStdin)) == b"hello\n"


def test_standard_input_waits_until_the_tasks_run(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "cat")
    assert child.stdin is not None
    child.stdin.write(b"early")
    child.stdin.flush()
    stage.tell(*BEGINNING)
    broker.wait_until(lambda: len(broker.seen(JobEvents)) >= 2)
    assert broker.seen(JobStdin) == []
    stage.tell(*RUNNING[len(BEGINNING) :])
    broker.wait_until(lambda: bool(broker.seen(JobStdin)))
    stage.end()


def test_input_for_some_tasks_names_them(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "-n4", "--input=0,2", "cat")
    stage.tell(*RUNNING)
    assert child.stdin is not None
    child.stdin.close()
    child.stdin = None
    broker.wait_until(lambda: bool(broker.seen(JobStdin)))
    assert broker.seen(JobStdin)[0].tasks == [0, 2]
    stage.end()


def test_input_that_a_job_does_not_take_is_told_once(broker: FakeBroker, stage: Stage, process: Process) -> None:
    def refuse(request: JobStdin) -> None:
        raise InvalidRequest("the job reads a file")

    broker.on(JobStdin, refuse)
    child = process("run", "cat")
    assert child.stdin is not None
    child.stdin.write(b"first")
    child.stdin.flush()
    stage.tell(*RUNNING)
    assert child.stderr is not None
    assert child.stderr.readline() == f"fluxlike: {JOB_TEXT}: input is not taken: the job reads a file\n".encode()
    child.stdin.write(b"second")
    child.stdin.close()
    child.stdin = None
    stage.end()
    _, err = child.communicate()
    assert (child.returncode, err, len(broker.seen(JobStdin))) == (0, b"", 1)


def following(broker: FakeBroker, count: int = 1) -> None:
    """Wait until the command has asked for events: its signal handlers are then in place."""
    broker.wait_until(lambda: len(broker.seen(JobEvents)) >= count)


def test_the_first_ctrl_c_warns_and_the_second_cancels(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "app", stdin=subprocess.DEVNULL)
    stage.tell(*RUNNING)
    following(broker, 2)
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    assert b"Ctrl-C again within 2 s" in child.stderr.readline()
    assert broker.seen(JobRaise) == []
    child.send_signal(signal.SIGINT)
    broker.wait_until(lambda: bool(broker.seen(JobRaise)))
    assert [(r.ids, r.type, r.severity) for r in broker.seen(JobRaise)] == [([JOB], "cancel", 0)]
    stage.end(status=15)
    child.communicate()
    assert child.returncode == 143


def test_ctrl_c_after_cancelling_leaves_at_once(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "app", stdin=subprocess.DEVNULL)
    following(broker)
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    child.stderr.readline()
    child.send_signal(signal.SIGINT)
    broker.wait_until(lambda: bool(broker.seen(JobRaise)))
    child.send_signal(signal.SIGINT)
    child.communicate()
    assert child.returncode == 130
    stage.end()


def test_ctrl_c_and_ctrl_z_leaves_the_job_alone(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "app", stdin=subprocess.DEVNULL)
    following(broker)
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    child.stderr.readline()
    child.send_signal(signal.SIGTSTP)
    _, err = child.communicate()
    assert (child.returncode, broker.seen(JobRaise)) == (0, [])
    assert f"fluxlike job attach {JOB_TEXT}".encode() in err
    stage.end()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2"])
def test_signals_are_forwarded_to_a_running_job(broker: FakeBroker, stage: Stage, process: Process, name: str) -> None:
    child = process("run", "app", stdin=subprocess.DEVNULL)
    stage.tell(*RUNNING)
    following(broker, 2)
    child.send_signal(signal.Signals[name])
    broker.wait_until(lambda: bool(broker.seen(JobKill)))
    assert [(r.ids, r.signum) for r in broker.seen(JobKill)] == [([JOB], signal.Signals[name])]
    stage.end()
    child.communicate()
    assert child.returncode == 0


def test_sigterm_cancels_a_job_that_still_waits(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "app", stdin=subprocess.DEVNULL)
    stage.tell(*BEGINNING)
    following(broker, 2)
    child.send_signal(signal.SIGTERM)
    broker.wait_until(lambda: bool(broker.seen(JobRaise)))
    assert broker.seen(JobRaise)[0].note == "SIGTERM before it was started"
    stage.end()


def test_a_signal_that_was_ignored_stays_ignored(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process(
        "run", "app", stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    stage.tell(*RUNNING)
    following(broker, 2)
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGUSR1)
    broker.wait_until(lambda: bool(broker.seen(JobKill)))
    assert [request.signum for request in broker.seen(JobKill)] == [signal.SIGUSR1]
    stage.end()


def test_output_appears_while_the_job_runs(broker: FakeBroker, stage: Stage, process: Process) -> None:
    child = process("run", "app", stdin=subprocess.DEVNULL)
    stage.tell(*RUNNING)
    stage.write([0, "stdout", b"first\n"])
    assert child.stdout is not None
    assert child.stdout.readline() == b"first\n"
    stage.write([0, "stdout", b"second\n"])
    assert child.stdout.readline() == b"second\n"
    stage.end()


def test_a_terminal_is_told_what_the_job_waits_for(broker: FakeBroker, stage: Stage, process: Process) -> None:
    ours, theirs = pty.openpty()
    child = process("run", "app", stdin=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    stage.tell(*BEGINNING)
    shown = b""
    while b"waiting for resources 00:00:01" not in shown:
        shown += os.read(ours, 4096)
    assert JOB_TEXT.encode() in shown
    stage.end()
    child.communicate()
    os.close(ours)
    assert child.returncode == 0


def test_an_input_file_is_named_in_the_jobspec(broker: FakeBroker, fluxlike: Command, tmp_path: Path) -> None:
    play(broker, life())
    fluxlike("run", f"--input={tmp_path}/in", "app")
    options = broker.seen(Submit)[0].specs[0]["attributes"]["system"]["shell"]["options"]
    assert options == {"input": {"stdin": f"{tmp_path}/in"}}


def test_job_attach_asks_how_many_tasks_there_are(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[1, "stdout", b"a"], [0, "stdout", b"b\n"]])
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(JOB, ntasks=2)]))
    result = fluxlike("job", "attach", JOB_TEXT)
    assert (result.code, result.out) == (0, "b\na")
