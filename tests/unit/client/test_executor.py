"""Futures of jobs, against a broker that answers as each test wants."""

from __future__ import annotations

import gc
import logging
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, as_completed, wait
from typing import Any

import pytest

from fluxlike.client import Event, FluxlikeExecutor, JobFailed, JobFuture, JobRecord, call
from fluxlike.client.requests import STDIN_BYTES
from fluxlike.errors import Disconnected, InvalidJobspec, InvalidRequest, StoreUnavailable
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.instance import Ping, Pong
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEvents,
    JobEventsReply,
    JobJournal,
    JobRaise,
    JobStdin,
    JobsTouched,
    JobWait,
    JournalRows,
    OutputRead,
    OutputReadReply,
    Submit,
    Submitted,
)
from fluxlike.protocol.message import Message
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record


class Instance:
    """Takes every job, whose id is its number. Jobs end when `may_end` is set, and are accepted when `may_take` is."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker = broker
        self.may_take = threading.Event()
        self.may_take.set()
        self.may_end = threading.Event()
        self.may_end.set()
        self.outcome = b""
        self.record: dict[str, Any] = {}
        broker.on_topic(Submit.topic, self._submit)
        broker.on(JobWait, self._wait)
        broker.on(JobRaise, self._raise)
        broker.on(OutputRead, self._output)
        broker.on(Ping, lambda request: Pong(rank=0, userid=0, route=[0], pad=b""))

    def _submit(self, message: Message) -> Submitted:
        requests = [m for m in self.broker.requests if m.topic == Submit.topic and m.matchtag < message.matchtag]
        first = sum(len(m.read(Submit).jobs) for m in requests)
        jobs = message.read(Submit)
        assert self.may_take.wait(10)
        if any(spec["tasks"][0]["command"] == ["bad"] for spec in jobs.specs):
            raise InvalidJobspec("is bad", "tasks")
        return Submitted(ids=list(range(first, first + len(jobs.jobs))))

    def _wait(self, request: JobWait) -> Iterator[JobEnds]:
        assert self.may_end.wait(10)
        yield JobEnds(jobs=[job_record(n, **self.record) for n in request.ids])

    def _raise(self, request: JobRaise) -> JobsTouched:
        return JobsTouched(ids=request.ids, errors=[])

    def _output(self, request: OutputRead) -> OutputReadReply:
        middle = len(self.outcome) // 2
        part = self.outcome[middle:] if request.offset else self.outcome[:middle]
        rows = [[0, "stderr", b"printed\n"], [0, "stdout", part]]
        return OutputReadReply(records=rows, next=request.offset + 1, done=request.offset > 0)


@pytest.fixture
def instance(broker: FakeBroker) -> Instance:
    return Instance(broker)


@pytest.fixture
def executor(instance: Instance) -> Iterator[FluxlikeExecutor]:
    executor = FluxlikeExecutor(instance.broker.uri)
    yield executor
    instance.may_take.set()
    instance.may_end.set()
    executor.shutdown()


def outcome(returned: bool, value: object, text: str = "") -> bytes:
    packed = call._dumps((returned, value, text))
    return len(packed).to_bytes(call.LENGTH_BYTES, "big") + packed


# -- commands ------------------------------------------------------------------------------------------------


def test_result_of_a_command_is_its_record(executor: FluxlikeExecutor, instance: Instance) -> None:
    future = executor.submit_command(["false"], cores_per_task=2, urgency=20, flags=["debug"])
    assert future.result(10) == JobRecord(job_record(0))
    assert future.job_id() == 0
    (request,) = instance.broker.seen(Submit)
    assert (request.urgency, request.flags) == (20, ["debug"])
    (spec,) = request.specs
    assert spec["tasks"][0]["command"] == ["false"]
    assert spec["resources"][0]["with"] == [{"type": "core", "count": 2}]
    assert spec["attributes"]["system"]["environment"]["PATH"]


def test_jobspec_stands_for_itself(executor: FluxlikeExecutor, instance: Instance) -> None:
    spec = from_command(["true"], cwd="/somewhere")
    executor.submit_command(spec).result(10)
    assert instance.broker.seen(Submit)[0].specs == [spec]
    with pytest.raises(InvalidRequest, match="write duration into it"):
        executor.submit_command(spec, duration=3.0)


def test_command_is_a_list_of_words(executor: FluxlikeExecutor) -> None:
    with pytest.raises(InvalidRequest, match=r"\['sh', '-c', 'make all'\]"):
        executor.submit_command("make all")


def test_wrong_options_are_told_when_the_executor_is_made(broker: FakeBroker) -> None:
    with pytest.raises(InvalidRequest, match="cores per task"):
        FluxlikeExecutor(broker.uri, cores_per_task=0)
    assert broker.connections == 0


def test_many_futures_cost_few_messages_and_one_thread(executor: FluxlikeExecutor, instance: Instance) -> None:
    threads = {thread.name for thread in threading.enumerate()}
    instance.may_take.clear()
    futures = [executor.submit_command(["true"]) for _ in range(1500)]
    assert {thread.name for thread in threading.enumerate()} - threads <= {Submit.topic, JobWait.topic}
    instance.may_take.set()
    assert [future.result(10).id for future in futures] == list(range(1500))
    assert len(instance.broker.seen(Submit)) <= 4
    assert len(instance.broker.requests) <= 8
    assert sum(len(request.specs) for request in instance.broker.seen(Submit)) <= 4


def test_refused_job_does_not_take_others_with_it(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.may_take.clear()
    words = ["first", "second", *(str(n) for n in range(20)), "bad", *(str(n) for n in range(20, 40))]
    futures = {executor.submit_command([word]): word for word in words}
    instance.may_take.set()
    refused = [word for future, word in futures.items() if isinstance(future.exception(10), InvalidJobspec)]
    assert refused == ["bad"]


def test_refusal_that_is_not_about_a_job_is_for_all(executor: FluxlikeExecutor, broker: FakeBroker) -> None:
    def refuse(_: Submit) -> Submitted:
        raise StoreUnavailable("the disk is full")

    broker.on(Submit, refuse)
    futures = [executor.submit_command([word]) for word in "abc"]
    for future in futures:
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            future.result(10)
    errors = [future.exception() for future in futures]
    assert len({id(error) for error in errors}) == 3, "each has its own, for each gets a traceback"


def test_id_is_waited_for(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.may_take.clear()
    future = executor.submit_command(["true"])
    with pytest.raises(TimeoutError):
        future.job_id(timeout=0)
    threading.Timer(0.05, instance.may_take.set).start()
    assert future.job_id(timeout=10) == 0


def test_id_of_a_refused_job_is_its_refusal(executor: FluxlikeExecutor) -> None:
    with pytest.raises(InvalidJobspec, match="is bad"):
        executor.submit_command(["bad"]).job_id(10)


# -- cancelling ----------------------------------------------------------------------------------------------


def test_cancelled_future_cancels_its_job(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.may_end.clear()
    future = executor.submit_command(["sleep", "600"])
    id = future.job_id(10)
    assert future.cancel()
    assert future.cancel(), "again is harmless"
    instance.broker.wait_until(lambda: any(m.topic == JobRaise.topic for m in instance.broker.requests))
    assert instance.broker.seen(JobRaise)[0].ids == [id]
    assert list(as_completed([future], 10)) == [future]
    with pytest.raises(CancelledError):
        future.result()
    assert future.job_id() == id


def test_future_that_is_cancelled_before_its_id_came_cancels_its_job(
    executor: FluxlikeExecutor, instance: Instance
) -> None:
    instance.may_take.clear()
    instance.may_end.clear()
    future = executor.submit_command(["sleep", "600"])
    instance.broker.wait_until(lambda: len(instance.broker.requests) == 1)
    assert future.cancel()
    instance.may_take.set()
    instance.broker.wait_until(lambda: any(m.topic == JobRaise.topic for m in instance.broker.requests))


def test_future_that_is_cancelled_in_the_queue_is_never_submitted(
    executor: FluxlikeExecutor, instance: Instance
) -> None:
    instance.may_take.clear()
    for words in (["a"], ["b"]):  # as many as are on their way at a time
        executor.submit_command(words)
        instance.broker.wait_until(lambda: bool(instance.broker.requests))
    instance.broker.wait_until(lambda: len(instance.broker.requests) == 2)
    unwanted = executor.submit_command(["unwanted"])
    assert unwanted.cancel()
    with pytest.raises(CancelledError):
        unwanted.job_id()
    instance.may_take.set()
    executor.shutdown()
    commands = [spec["tasks"][0]["command"] for request in instance.broker.seen(Submit) for spec in request.specs]
    assert commands == [["a"], ["b"]]


def test_ended_job_cannot_be_cancelled(executor: FluxlikeExecutor) -> None:
    future = executor.submit_command(["true"])
    future.result(10)
    assert not future.cancel()


# -- the end -------------------------------------------------------------------------------------------------


def test_shutdown_waits_and_takes_no_more(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.may_end.clear()
    future = executor.submit_command(["true"])
    threading.Timer(0.05, instance.may_end.set).start()
    executor.shutdown()
    assert future.done()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit_command(["true"])
    instance.broker.wait_until(lambda: instance.broker.connections == 0)


def test_shutdown_that_does_not_wait_leaves_futures_to_their_end(
    executor: FluxlikeExecutor, instance: Instance
) -> None:
    instance.may_end.clear()
    future = executor.submit_command(["true"])
    executor.shutdown(wait=False)
    assert not future.done()
    instance.may_end.set()
    assert future.result(10).succeeded


def test_shutdown_cancels_all_if_told_to(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.may_end.clear()
    futures = [executor.submit_command(["sleep", "600"]) for _ in range(5)]
    futures[-1].job_id(10)
    executor.shutdown(cancel_futures=True)
    assert all(future.cancelled() for future in futures)
    assert sorted(id for request in instance.broker.seen(JobRaise) for id in request.ids) == [0, 1, 2, 3, 4]


def test_lost_connection_is_the_exception_of_open_futures(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.may_end.clear()
    future = executor.submit_command(["true"])
    future.job_id(10)
    instance.broker.hang_up()
    error = future.exception(10)
    assert isinstance(error, Disconnected)
    assert "goes on" in error.__notes__[0]
    with pytest.raises(Disconnected):
        executor.submit_command(["true"])


def test_executor_that_nobody_holds_ends_its_thread(instance: Instance) -> None:
    executor = FluxlikeExecutor(instance.broker.uri)
    executor.submit_command(["true"]).result(10)
    del executor
    gc.collect()
    instance.broker.wait_until(lambda: instance.broker.connections == 0)


def test_program_that_forgets_to_shut_down_ends_after_its_futures(instance: Instance) -> None:
    program = f"""
from fluxlike.client import FluxlikeExecutor
executor = FluxlikeExecutor({instance.broker.uri!r})
executor.submit_command(["true"]).add_done_callback(lambda future: print(future.result().id))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


# -- calls ---------------------------------------------------------------------------------------------------


def test_small_calls_of_one_function_share_a_jobspec(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.outcome = outcome(True, 6)
    assert [executor.submit(math.factorial, n).result(10) for n in (3, 3)] == [6, 6]
    first, second = instance.broker.seen(Submit)
    assert first.specs == second.specs
    assert first.specs[0]["attributes"]["system"]["job"]["name"] == "factorial"
    assert first.specs[0]["tasks"][0]["command"] == [sys.executable, "-m", "fluxlike.client.call"]
    assert first.jobs == [[0, call.as_text(call.pack_call(math.factorial, (3,), {}))]]


def test_exception_of_a_call_comes_with_its_traceback(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.outcome = outcome(False, ValueError("too deep"), "Traceback: line 7\n")
    error = executor.submit(math.sqrt, -1).exception(10)
    assert isinstance(error, ValueError)
    assert "line 7" in str(error.__cause__)


@pytest.mark.parametrize("data", [b"", b"\0" * 7, outcome(True, 1)[:-1]])
def test_job_that_ends_without_an_outcome_has_failed(
    executor: FluxlikeExecutor, instance: Instance, data: bytes
) -> None:
    instance.outcome = data
    instance.record = {"result": "timeout", "exception_note": "ran out of time", "exception_type": "timeout"}
    error = executor.submit(math.sqrt, 4).exception(10)
    assert isinstance(error, JobFailed)
    assert error.record.result == "timeout"
    assert "timeout before its call was done: ran out of time" in str(error)


def test_outcome_that_cannot_be_unpacked_is_an_exception(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.outcome = (3).to_bytes(call.LENGTH_BYTES, "big") + b"???"
    error = executor.submit(math.sqrt, 4).exception(10)
    assert error is not None
    assert "unpacked" in error.__notes__[0]


def test_large_call_goes_by_standard_input_once_the_job_runs(executor: FluxlikeExecutor, instance: Instance) -> None:
    polls: list[JobEvents] = []

    def events(request: JobEvents) -> JobEventsReply:
        polls.append(request)
        name = "alloc" if len(polls) == 1 else "start"
        return JobEventsReply(events=[[1.0, name, None]], next=len(polls), done=False)

    instance.broker.on(JobEvents, events)
    instance.broker.on(JobStdin, lambda _: None)
    instance.may_end.clear()
    future = executor.submit(len, b"x" * (2 * STDIN_BYTES))
    instance.broker.wait_until(lambda: sum(m.topic == JobStdin.topic for m in instance.broker.requests) == 3)
    pieces = instance.broker.seen(JobStdin)
    assert [piece.eof for piece in pieces] == [False, False, True]
    assert call.pack_call(len, (b"x" * (2 * STDIN_BYTES),), {}) == b"".join(piece.data for piece in pieces)
    instance.outcome = outcome(True, 7)
    instance.may_end.set()
    assert future.result(10) == 7
    (request,) = instance.broker.seen(Submit)
    assert request.jobs == [[0, None]]
    assert request.specs[0]["attributes"]["system"]["shell"]["options"] == {"input": {"stdin": "pipe"}}


def test_map_puts_several_calls_into_a_job(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.outcome = outcome(True, ["a", "b"])
    assert list(executor.map(math.sqrt, range(4), chunksize=2)) == ["a", "b", "a", "b"]
    assert sum(len(request.jobs) for request in instance.broker.seen(Submit)) == 2
    with pytest.raises(ValueError, match="chunksize"):
        executor.map(math.sqrt, [1], chunksize=0)


# -- events --------------------------------------------------------------------------------------------------


class Told:
    """A callback that remembers, and whether the future was done by then."""

    def __init__(self) -> None:
        self.events: list[tuple[int | None, str, bool]] = []

    def __call__(self, future: JobFuture[Any], event: Event) -> None:
        self.events.append((future.id, event.name, future.done()))


def journal_of(instance: Instance, rows: Callable[[], list[list[Any]]]) -> threading.Event:
    """A journal that gives these rows when the event is set, and goes on."""
    go = threading.Event()

    def journal(request: JobJournal) -> Iterator[JournalRows]:
        assert go.wait(10)
        yield JournalRows(events=[row for row in rows() if row[3] in request.names])
        instance.broker.wait_until(lambda: instance.broker.connections == 0)

    instance.broker.on(JobJournal, journal)
    return go


def test_callbacks_of_the_executor_hear_of_every_job(executor: FluxlikeExecutor, instance: Instance) -> None:
    rows = [[n, 4, 1.0, name, None] for n in range(3) for name in ("start", "finish")]
    go = journal_of(instance, lambda: rows)
    told = Told()
    executor.add_event_callback("start", told)
    instance.may_end.clear()
    futures = [executor.submit_command(["true"]) for _ in range(2)]
    futures[-1].job_id(10)
    go.set()
    wait_for(lambda: len(told.events) == 2)
    instance.may_end.set()
    wait(futures, 10)
    assert told.events == [(0, "start", False), (1, "start", False)]
    assert not instance.broker.seen(JobEvents)


def test_event_that_is_told_before_the_id_is_known_is_kept(executor: FluxlikeExecutor, instance: Instance) -> None:
    go = journal_of(instance, lambda: [[0, 0, 1.0, "submit", None], [99, 0, 1.0, "submit", None]])
    told = Told()
    executor.add_event_callback("submit", told)
    instance.may_take.clear()
    future = executor.submit_command(["true"])
    instance.broker.wait_until(lambda: len(instance.broker.seen(Submit)) == 1)
    go.set()
    executor._courier.watch(None, "", told)  # what was sent before has been taken once this is asked
    instance.broker.wait_until(lambda: len(instance.broker.seen(JobJournal)) == 2)
    instance.may_take.set()
    future.result(10)
    assert told.events == [(0, "submit", False)]


def test_callback_of_a_future_hears_what_was_before_and_nothing_twice(
    executor: FluxlikeExecutor, instance: Instance
) -> None:
    past = [[1.0, "submit", None], [2.0, "alloc", None], [3.0, "start", {"pid": 4}]]
    instance.broker.on(JobEvents, lambda _: JobEventsReply(events=past, next=3, done=False))
    go = journal_of(instance, lambda: [[0, 2, 3.0, "start", None], [0, 5, 4.0, "start", None]])
    instance.may_end.clear()
    future = executor.submit_command(["true"])
    future.job_id(10)
    told = Told()
    future.add_event_callback("start", told)
    wait_for(lambda: len(told.events) == 1)
    go.set()
    wait_for(lambda: len(told.events) == 2)
    instance.may_end.set()
    future.result(10)
    assert told.events == [(0, "start", False)] * 2


def test_callback_added_after_the_end_hears_what_was(executor: FluxlikeExecutor, instance: Instance) -> None:
    instance.broker.on(JobEvents, lambda _: JobEventsReply(events=[[1.0, "clean", None]], next=1, done=True))
    journal_of(instance, list)
    future = executor.submit_command(["true"])
    future.result(10)
    told = Told()
    future.add_event_callback("clean", told)
    wait_for(lambda: told.events == [(0, "clean", True)])


def test_failing_callback_is_logged_and_the_others_are_called(
    executor: FluxlikeExecutor, instance: Instance, caplog: pytest.LogCaptureFixture
) -> None:
    instance.broker.on(JobEvents, lambda _: JobEventsReply(events=[[1.0, "clean", None]], next=1, done=True))
    journal_of(instance, list)
    future = executor.submit_command(["true"])
    future.result(10)
    told = Told()
    with caplog.at_level(logging.ERROR, "fluxlike.client"):
        future.add_event_callback("clean", lambda *_: 1 / 0)
        future.add_event_callback("clean", told)
        wait_for(lambda: bool(told.events))
    assert "the callback for event clean of job 0 failed" in caplog.text


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        threading.Event().wait(0.005)
