"""What a client promises, asked of both faces by the same tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fluxlike.client import Event, JobRecord, JournalEvent, OutputChunk
from fluxlike.client.submission import BATCH_JOBS, WINDOW
from fluxlike.errors import (
    BY_CODE,
    ConfigError,
    Disconnected,
    FluxlikeError,
    InvalidRequest,
    InvalidTransition,
    NoSuchService,
    NotFound,
    PermissionDenied,
    ProtocolError,
    TimedOut,
    Unsatisfiable,
)
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.parse import parse
from fluxlike.protocol.framing import frame
from fluxlike.protocol.instance import (
    EventSeen,
    EventSubscribe,
    Ping,
    Pong,
    Uptime,
    UptimeReply,
)
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEvents,
    JobEventsReply,
    JobInfo,
    JobInfoReply,
    JobJournal,
    JobKill,
    JobList,
    JobListed,
    JobPurge,
    JobPurged,
    JobRaise,
    JobStdin,
    JobsTouched,
    JobTasks,
    JobTasksListed,
    JobUpdate,
    JobUpdated,
    JobUrgency,
    JobUrgencySet,
    JobWait,
    JournalRows,
    OutputRead,
    OutputReadReply,
    Submit,
    SubmitArray,
    Submitted,
)
from fluxlike.protocol.message import Flag, Kind, Message, encode
from fluxlike.testing.fake_broker import SILENCE, FakeBroker, HangUp
from fluxlike.testing.records import job_record, pending_record

Connect = Callable[..., Any]
SPEC = from_command(["true"])


def pong(request: Ping) -> Pong:
    return Pong(rank=0, userid=0, route=[0], pad=request.pad)


# -- the connection ------------------------------------------------------------------------------------------


def test_missing_socket_is_no_instance_and_says_how_to_start_one(connect: Connect, tmp_path: Path) -> None:
    uri = f"local://{tmp_path}/none"
    with pytest.raises(Disconnected, match=f"no instance listens at {uri}: start one with `fluxlike start`"):
        connect(uri)


def test_socket_that_nobody_listens_on_is_no_instance(connect: Connect, broker: FakeBroker) -> None:
    broker.close()
    with pytest.raises(Disconnected, match="no instance listens at"):
        connect(broker.uri)


def test_address_of_another_kind_is_refused(connect: Connect) -> None:
    with pytest.raises(InvalidRequest, match="local:///path/to/socket"):
        connect("tcp://localhost:1234")


def test_enclosing_instance_is_the_default(
    connect: Connect, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUXLIKE_URI", broker.uri)
    broker.on(Ping, pong)
    client = connect()
    assert client.uri == broker.uri
    assert client.call(Ping(pad=b"x"), Pong).pad == b"x"


def test_without_any_instance_the_error_says_what_to_do(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLUXLIKE_URI", raising=False)
    with pytest.raises(ConfigError, match="fluxlike start --detach"):
        connect()


def test_instance_of_another_user_is_refused(
    connect: Connect, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    with pytest.raises(PermissionDenied, match="an instance serves its owner alone"):
        connect(broker.uri)


def test_lost_connection_is_told_with_the_address(client: Any, broker: FakeBroker) -> None:
    def hang_up(_: Ping) -> None:
        raise HangUp

    broker.on(Ping, hang_up)
    with pytest.raises(Disconnected, match=f"connection to {broker.uri} is lost: closed by the broker"):
        client.call(Ping(), Pong)
    with pytest.raises(Disconnected, match=broker.uri):
        client.call(Ping(), Pong)
    with pytest.raises(Disconnected, match=broker.uri):
        client.receive(timeout=1)


def test_closed_client_says_so(client: Any, broker: FakeBroker) -> None:
    client.close()
    client.close()
    with pytest.raises(Disconnected, match="this client was closed"):
        client.call(Ping(), Pong)


def test_leaving_the_block_closes_the_connection(connect: Connect, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    with connect(broker.uri) as client:
        client.call(Ping(), Pong)
        assert client.fileno() >= 0
    broker.wait_until(lambda: broker.connections == 0)


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", frame(b"\xc1"), frame(b"\x01")])
def test_garbage_from_the_broker_ends_the_connection(client: Any, broker: FakeBroker, garbage: bytes) -> None:
    def answer(_: Ping) -> object:
        broker.send_bytes(garbage)
        return SILENCE

    broker.on(Ping, answer)
    with pytest.raises(ProtocolError):
        client.call(Ping(), Pong)
    broker.wait_until(lambda: broker.connections == 0)
    with pytest.raises(FluxlikeError):
        client.call(Ping(), Pong)


def test_complaint_of_the_door_is_what_the_caller_sees(client: Any, broker: FakeBroker) -> None:
    def refuse(_: Ping) -> object:
        complaint = Message(Kind.RESPONSE, "", error=("permission", "uid 7 does not own this instance"))
        broker.send_bytes(frame(encode(complaint)))
        raise HangUp

    broker.on(Ping, refuse)
    with pytest.raises(PermissionDenied, match="uid 7 does not own"):
        client.call(Ping(), Pong)


# -- calls ---------------------------------------------------------------------------------------------------


def test_call_goes_to_its_rank_and_brings_a_typed_answer(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    assert client.call(Ping(pad=b"abc"), Pong, rank=3) == Pong(rank=0, userid=0, route=[0], pad=b"abc")
    assert [message.nodeid for message in broker.requests] == [3]


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_error_of_the_broker_is_raised_as_its_class(client: Any, broker: FakeBroker, code: str) -> None:
    def fail(_: Ping) -> None:
        raise BY_CODE[code]("because")

    broker.on(Ping, fail)
    with pytest.raises(FluxlikeError, match="because") as caught:
        client.call(Ping(), Pong)
    assert type(caught.value) is BY_CODE[code]


def test_connection_goes_on_after_an_error(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    with pytest.raises(NoSuchService, match=r"broker\.uptime"):
        client.call(Uptime(), UptimeReply)
    assert client.call(Ping(pad=b"still here"), Pong).pad == b"still here"


def test_rpc_takes_and_gives_plain_values(client: Any, broker: FakeBroker) -> None:
    broker.on_topic("my.echo", lambda message: {"got": message.body, "rank": message.nodeid})
    assert client.rpc("my.echo", [1, "two", b"3", None], rank=2) == {"got": [1, "two", b"3", None], "rank": 2}
    assert client.rpc("my.echo") == {"got": None, "rank": -1}
    with pytest.raises(NoSuchService):
        client.rpc("my.other")


def test_timeout_is_raised_and_the_broker_told_to_stop(client: Any, broker: FakeBroker) -> None:
    broker.on_topic("my.slow", lambda _: SILENCE)
    broker.on(Ping, pong)
    with pytest.raises(TimedOut, match=rf"my\.slow: the instance at {broker.uri} did not answer in time"):
        client.rpc("my.slow", timeout=0.01)
    broker.wait_until(lambda: bool(broker.cancelled))
    assert broker.cancelled == {broker.requests[0].matchtag}
    assert client.call(Ping(pad=b"next"), Pong, timeout=60).pad == b"next"


def test_answer_after_its_timeout_reaches_nobody_else(client: Any, broker: FakeBroker) -> None:
    late = threading.Event()
    broker.on_topic("my.slow", lambda _: (late.wait(10), "late")[1])
    with pytest.raises(TimedOut):
        client.rpc("my.slow", timeout=0.01)
    late.set()
    broker.on(Ping, pong)
    assert client.call(Ping(pad=b"mine"), Pong).pad == b"mine"
    assert client.receive(timeout=0) is None


def test_endless_timeout_is_none(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    assert client.call(Ping(pad=b"x"), Pong, timeout=float("inf")).pad == b"x"


def test_large_messages_pass_both_ways(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    data = bytes(range(256)) * 20_000
    assert client.call(Ping(pad=data), Pong).pad == data


def test_request_over_the_limit_leaves_the_connection_in_order(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    with pytest.raises(InvalidRequest, match="over the limit of 67108864"):
        client.call(Ping(pad=bytes(64 * 1024 * 1024)), Pong)
    assert client.call(Ping(pad=b"ok"), Pong).pad == b"ok"


# -- posted requests -----------------------------------------------------------------------------------------


def test_answers_to_posted_requests_are_received_with_their_tags(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    tags = [client.post(Ping(pad=bytes([n]))) for n in range(5)]
    answers = [client.receive(timeout=10) for _ in tags]
    assert {message.matchtag: message.read(Pong).pad for message in answers} == {
        tag: bytes([n]) for n, tag in enumerate(tags)
    }
    assert client.receive(timeout=0) is None


def test_posted_stream_gives_its_answers_and_its_end_mark(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(n)]) for n in request.ids]))
    tag = client.post(JobWait(ids=[1, 2]), stream=True)
    answers = [client.receive(timeout=10) for _ in range(3)]
    assert [message.matchtag for message in answers] == [tag] * 3
    assert [message.flags for message in answers] == [Flag.STREAM, Flag.STREAM, Flag.END]


def test_errors_of_posted_requests_are_answers(client: Any, broker: FakeBroker) -> None:
    tag = client.post(Uptime())
    message = client.receive(timeout=10)
    assert message.matchtag == tag
    assert isinstance(message.failure(), NoSuchService)


def test_call_in_between_leaves_posted_answers_for_receive(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    broker.on_topic("my.value", lambda _: 5)
    tag = client.post(Ping(pad=b"posted"))
    assert client.rpc("my.value") == 5
    message = client.receive(timeout=10)
    assert (message.matchtag, message.read(Pong).pad) == (tag, b"posted")


# -- streams -------------------------------------------------------------------------------------------------


def test_stream_ends_with_its_last_answer(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(n)]) for n in request.ids]))
    replies = list(client.stream(JobWait(ids=[5, 6]), JobEnds))
    assert [reply.jobs[0]["id"] for reply in replies] == [5, 6]
    assert broker.requests[0].flags & Flag.STREAM
    assert broker.cancelled == set()


def test_stream_of_nothing_is_empty(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda _: iter(()))
    assert list(client.stream(JobWait(ids=[]), JobEnds)) == []


def test_single_answer_where_a_stream_was_asked_is_the_last(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda _: JobEnds(jobs=[job_record(1)]))
    assert len(list(client.stream(JobWait(ids=[1]), JobEnds))) == 1


def test_error_in_a_stream_comes_after_what_was_before_it(client: Any, broker: FakeBroker) -> None:
    def half(_: JobWait) -> Iterator[JobEnds]:
        yield JobEnds(jobs=[job_record(1)])
        raise NotFound("the second is unknown")

    broker.on(JobWait, half)
    replies = client.stream(JobWait(ids=[1, 2]), JobEnds)
    assert next(replies).jobs[0]["id"] == 1
    with pytest.raises(NotFound, match="the second is unknown"):
        next(replies)


def test_stream_is_asked_for_before_it_is_iterated(client: Any, broker: FakeBroker) -> None:
    broker.on(EventSubscribe, lambda _: iter([EventSeen(sequence=1, name="a", body=None)]))
    events = client.stream(EventSubscribe(prefix="a"), EventSeen)
    broker.wait_until(lambda: broker.seen(EventSubscribe) == [EventSubscribe(prefix="a")])
    assert [event.name for event in events] == ["a"]


def test_two_streams_and_a_call_do_not_mix(client: Any, broker: FakeBroker) -> None:
    broker.on(
        EventSubscribe,
        lambda request: iter([EventSeen(sequence=n, name=request.prefix, body=None) for n in range(50)]),
    )
    broker.on(Ping, pong)
    one = client.stream(EventSubscribe(prefix="one"), EventSeen)
    two = client.stream(EventSubscribe(prefix="two"), EventSeen)
    seen = []
    for first in one:
        second = next(two)
        assert client.call(Ping(pad=b"x"), Pong).pad == b"x"
        seen.append((first.sequence, first.name, second.sequence, second.name))
    assert seen == [(n, "one", n, "two") for n in range(50)]
    assert list(two) == []


def test_leaving_a_stream_tells_the_broker_to_stop(client: Any, broker: FakeBroker) -> None:
    def endless(_: EventSubscribe) -> Iterator[EventSeen]:
        yield EventSeen(sequence=1, name="a", body=None)
        broker.wait_until(lambda: bool(broker.cancelled))
        yield EventSeen(sequence=2, name="a", body=None)

    broker.on(EventSubscribe, endless)
    broker.on(Ping, pong)
    stream = client.stream(EventSubscribe(), EventSeen)
    assert next(stream).sequence == 1
    stream.close()
    broker.wait_until(lambda: bool(broker.cancelled))
    assert broker.cancelled == {broker.requests[0].matchtag}
    assert client.call(Ping(pad=b"x"), Pong).pad == b"x"


def test_stream_that_was_never_read_can_be_left_too(client: Any, broker: FakeBroker) -> None:
    broker.on(EventSubscribe, lambda _: SILENCE)
    broker.on(Ping, pong)
    client.stream(EventSubscribe(), EventSeen).close()
    broker.wait_until(lambda: bool(broker.cancelled))
    assert broker.cancelled == {broker.requests[0].matchtag}
    assert client.call(Ping(pad=b"x"), Pong).pad == b"x"


def test_stream_has_one_timeout_for_all_of_it(client: Any, broker: FakeBroker) -> None:
    def stalls(_: EventSubscribe) -> Iterator[EventSeen]:
        yield EventSeen(sequence=1, name="a", body=None)
        broker.wait_until(lambda: bool(broker.cancelled))

    broker.on(EventSubscribe, stalls)
    stream = client.stream(EventSubscribe(), EventSeen, timeout=0.2)
    assert next(stream).sequence == 1
    with pytest.raises(TimedOut, match=EventSubscribe.topic):
        next(stream)


def test_connection_lost_within_a_stream_is_told(client: Any, broker: FakeBroker) -> None:
    def cut(_: EventSubscribe) -> Iterator[EventSeen]:
        yield EventSeen(sequence=1, name="a", body=None)
        raise HangUp

    broker.on(EventSubscribe, cut)
    stream = client.stream(EventSubscribe(), EventSeen)
    assert next(stream).sequence == 1
    with pytest.raises(Disconnected, match="closed by the broker"):
        next(stream)


# -- submitting ----------------------------------------------------------------------------------------------


def accept_all(broker: FakeBroker) -> None:
    """Ids count up from 100, in the order in which requests arrived."""

    def take(message: Message) -> Submitted:
        earlier = [m.read(Submit) for m in broker.requests if m.topic == Submit.topic and m.matchtag < message.matchtag]
        first = 100 + sum(len(request.jobs) for request in earlier)
        return Submitted(ids=list(range(first, first + len(message.read(Submit).jobs))))

    broker.on_topic(Submit.topic, take)


def test_submit_sends_the_jobspec_and_gives_the_id(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    assert client.submit(SPEC, urgency=20, flags=["waitable"]) == 100
    assert broker.seen(Submit) == [Submit(specs=[SPEC], jobs=[[0, None]], urgency=20, flags=["waitable"])]


def test_jobspec_may_be_a_parsed_one(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    client.submit(parse(SPEC))
    (request,) = broker.seen(Submit)
    assert parse(request.specs[0]) == parse(SPEC)


def test_submitting_many_gives_their_ids_in_order(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    count = 2 * BATCH_JOBS + 500
    assert client.submit_many([SPEC] * count) == list(range(100, 100 + count))
    assert [len(request.jobs) for request in broker.seen(Submit)] == [BATCH_JOBS, BATCH_JOBS, 500]
    assert client.submit_many([]) == []


def test_batches_are_given_as_they_are_stored(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    batches = client.submit_batches([SPEC] * (BATCH_JOBS + 500))
    assert next(batches) == list(range(100, 100 + BATCH_JOBS))
    assert next(batches) == list(range(100 + BATCH_JOBS, 600 + BATCH_JOBS))
    assert list(batches) == []


def test_several_messages_are_on_their_way_at_a_time_but_not_all(client: Any, broker: FakeBroker) -> None:
    first_may_go = threading.Event()

    def take(request: Submit) -> Submitted:
        number = int(request.key.partition("/")[2] or 0)
        if number == 0:
            assert first_may_go.wait(10)
        return Submitted(ids=list(range(number * BATCH_JOBS, number * BATCH_JOBS + len(request.jobs))))

    def release() -> None:
        broker.wait_until(lambda: len(broker.requests) == WINDOW)
        first_may_go.set()

    broker.on(Submit, take)
    asked = threading.Thread(target=release)
    asked.start()
    count = BATCH_JOBS * (WINDOW + 3)
    batches = client.submit_batches([SPEC] * count, key="k")
    assert next(batches) == list(range(BATCH_JOBS)), "in order, though the others were answered before"
    assert len(broker.requests) == WINDOW
    assert [id for ids in batches for id in ids] == list(range(BATCH_JOBS, count))
    asked.join()


def test_batches_left_early_are_not_waited_for(client: Any, broker: FakeBroker) -> None:
    broker.on(Ping, pong)

    def take(request: Submit) -> object:
        return SILENCE if "/" in request.key else Submitted(ids=[1])

    broker.on(Submit, take)
    batches = client.submit_batches([SPEC] * (2 * BATCH_JOBS), key="k")
    assert next(batches) == [1]
    batches.close()
    assert client.call(Ping(pad=b"x"), Pong).pad == b"x"


def test_submission_carries_its_key(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    client.submit(SPEC, key="once")
    client.submit_many([SPEC], key="many")
    client.submit_template(SPEC, ["a"], key="template")
    assert [request.key for request in broker.seen(Submit)] == ["once", "many", "template"]


def test_jobs_of_one_submission_depend_on_each_other(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    assert client.submit_many([SPEC, SPEC], dependencies={1: [("afterok", 0)]}) == [100, 101]
    assert broker.seen(Submit)[0].jobs == [[0, None], [0, None, [["afterok", 0]]]]


def test_array_is_one_job(client: Any, broker: FakeBroker) -> None:
    broker.on(SubmitArray, lambda _: Submitted(ids=[9]))
    assert client.submit_array(SPEC, 1000, max_running=5, max_fails=0, urgency=3, flags=["debug"], key="k") == 9
    assert broker.seen(SubmitArray) == [
        SubmitArray(spec=SPEC, count=1000, max_running=5, max_fails=0, urgency=3, flags=["debug"], key="k")
    ]


def test_template_makes_one_job_for_each_value(client: Any, broker: FakeBroker) -> None:
    accept_all(broker)
    assert client.submit_template(SPEC, ["a", "b"], urgency=1) == [100, 101]
    assert broker.seen(Submit) == [Submit(specs=[SPEC], jobs=[[0, "a"], [0, "b"]], urgency=1)]


def test_refused_batch_tells_what_was_accepted_before(client: Any, broker: FakeBroker) -> None:
    def second_fails(request: Submit) -> Submitted:
        if request.key == "k/1":
            raise Unsatisfiable("4 cores at most")
        return Submitted(ids=list(range(len(request.jobs))))

    broker.on(Submit, second_fails)
    with pytest.raises(Unsatisfiable, match="4 cores at most") as caught:
        client.submit_many([SPEC] * (2 * BATCH_JOBS + 7), key="k")
    assert [note.partition(", the last")[0] for note in caught.value.__notes__] == [
        "7 jobs of messages that were on their way were accepted",
        f"{BATCH_JOBS} jobs before it were accepted",
    ]


def test_refused_first_batch_has_nothing_to_note(client: Any, broker: FakeBroker) -> None:
    def fail(_: Submit) -> Submitted:
        raise Unsatisfiable("no")

    broker.on(Submit, fail)
    with pytest.raises(Unsatisfiable) as caught:
        client.submit_many([SPEC])
    assert not hasattr(caught.value, "__notes__")


# -- looking -------------------------------------------------------------------------------------------------


def test_jobs_are_listed_as_records(client: Any, broker: FakeBroker) -> None:
    broker.on(JobList, lambda _: JobListed(jobs=[job_record(2), pending_record(1)]))
    jobs = client.jobs(states=("active",), ids=(1, 2), name="true", limit=5)
    assert jobs == [JobRecord(job_record(2)), JobRecord(pending_record(1))]
    assert [job.state for job in jobs] == ["inactive", "sched"]
    assert broker.seen(JobList) == [JobList(states=["active"], ids=[1, 2], name="true", limit=5)]


def test_a_long_list_is_fetched_to_its_end(client: Any, broker: FakeBroker) -> None:
    def part(request: JobList) -> JobListed:
        start = int(request.cursor or 0)
        return JobListed(
            jobs=[job_record(n) for n in range(start, start + 4)], cursor=str(start + 4) if start < 8 else ""
        )

    broker.on(JobList, part)
    assert [job.id for job in client.jobs(limit=0, since=3.5)] == list(range(12))
    assert {request.since for request in broker.seen(JobList)} == {3.5}
    assert [job.id for job in client.jobs(limit=8)] == list(range(8))


def test_tasks_are_listed_as_records(client: Any, broker: FakeBroker) -> None:
    task = {"index": 3, "cc": "x", "state": "inactive", "result": "failed", "returncode": 1}
    broker.on(JobTasks, lambda _: JobTasksListed(tasks=[task]))
    (record,) = client.tasks(7, states=["failed"], first=2, limit=10)
    assert (record.index, record.cc, record.returncode, record.succeeded, record.active) == (3, "x", 1, False, False)
    assert broker.seen(JobTasks) == [JobTasks(id=7, states=["failed"], first=2, limit=10)]


def test_journal_is_asked_for_at_once_and_gives_events_of_all_jobs(client: Any, broker: FakeBroker) -> None:
    rows = [[7, 0, 1.0, "submit", {"urgency": 16}], [8, 3, 1.5, "start", None]]
    broker.on(JobJournal, lambda _: iter([JournalRows(events=rows[:1]), JournalRows(events=rows[1:])]))
    events = client.journal(names=("submit", "start"))
    broker.wait_until(lambda: len(broker.requests) == 1)
    assert broker.seen(JobJournal) == [JobJournal(names=["submit", "start"])]
    assert list(events) == [JournalEvent(7, 0, 1.0, "submit", {"urgency": 16}), JournalEvent(8, 3, 1.5, "start", {})]


def test_journal_that_is_closed_is_cancelled(client: Any, broker: FakeBroker) -> None:
    def endless(_: JobJournal) -> Iterator[JournalRows]:
        yield JournalRows(events=[[7, 0, 1.0, "submit", None]])
        broker.wait_until(lambda: bool(broker.cancelled))

    broker.on(JobJournal, endless)
    events = client.journal()
    assert next(events).id == 7
    events.close()
    broker.wait_until(lambda: bool(broker.cancelled))


def test_job_is_asked_for_by_its_id(client: Any, broker: FakeBroker) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(n) for n in request.ids if n == 7]))
    assert client.job(7).id == 7
    with pytest.raises(NotFound, match="no job has the id"):
        client.job(8)


def test_info_gives_the_values_of_the_keys(client: Any, broker: FakeBroker) -> None:
    broker.on(JobInfo, lambda request: JobInfoReply(values={key: 1 for key in request.keys}))
    assert client.info(7, "R", "jobspec") == {"R": 1, "jobspec": 1}
    assert client.info(7) == {"eventlog": 1, "jobspec": 1, "R": 1}


# -- following -----------------------------------------------------------------------------------------------

LOG = [[1.0, "submit", {"urgency": 16}], [2.0, "start", None], [3.0, "clean", None]]


def eventlog(broker: FakeBroker, log: list[Any]) -> None:
    """One event to an answer, and none where a long poll would have run out of patience."""

    def read(request: JobEvents) -> JobEventsReply:
        asked = len(broker.seen(JobEvents))
        rows = log[request.since : request.since + 1] if asked % 2 else []
        after = request.since + len(rows)
        return JobEventsReply(events=rows, next=after, done=after == len(LOG))

    broker.on(JobEvents, read)


def test_following_events_ends_with_the_job(client: Any, broker: FakeBroker) -> None:
    eventlog(broker, LOG)
    assert list(client.events(7)) == [
        Event(1.0, "submit", {"urgency": 16}),
        Event(2.0, "start", {}),
        Event(3.0, "clean", {}),
    ]
    assert all(request.wait and request.id == 7 for request in broker.seen(JobEvents))


def test_events_may_start_later(client: Any, broker: FakeBroker) -> None:
    eventlog(broker, LOG)
    assert [event.name for event in client.events(7, since=1)] == ["start", "clean"]


def test_events_so_far_do_not_wait(client: Any, broker: FakeBroker) -> None:
    eventlog(broker, LOG[:2])
    assert [event.name for event in client.events(7, follow=False)] == ["submit"]
    assert not any(request.wait for request in broker.seen(JobEvents))


def test_events_of_an_unknown_job_are_an_error(client: Any, broker: FakeBroker) -> None:
    def unknown(_: JobEvents) -> None:
        raise NotFound("no such job")

    broker.on(JobEvents, unknown)
    with pytest.raises(NotFound):
        list(client.events(7))


def test_client_serves_other_calls_while_events_are_followed(client: Any, broker: FakeBroker) -> None:
    eventlog(broker, LOG)
    broker.on(Ping, pong)
    names = []
    for event in client.events(7):
        client.call(Ping(), Pong)
        names.append(event.name)
    assert names == ["submit", "start", "clean"]


def test_output_is_read_from_where_the_last_answer_ended(client: Any, broker: FakeBroker) -> None:
    pieces = {0: [0, "stdout", b"one\n"], 10: [1, "stderr", b"two"], 20: [0, "stdout", b"\xff\n"]}

    def read(request: OutputRead) -> OutputReadReply:
        return OutputReadReply(records=[pieces[request.offset]], next=request.offset + 10, done=request.offset == 20)

    broker.on(OutputRead, read)
    assert list(client.output(7)) == [
        OutputChunk(0, "stdout", b"one\n"),
        OutputChunk(1, "stderr", b"two"),
        OutputChunk(0, "stdout", b"\xff\n"),
    ]
    assert [(request.offset, request.wait) for request in broker.seen(OutputRead)] == [
        (0, True),
        (10, True),
        (20, True),
    ]


def test_output_so_far_does_not_wait(client: Any, broker: FakeBroker) -> None:
    def read(request: OutputRead) -> OutputReadReply:
        rows = [] if request.offset else [[0, "stdout", b"so far"]]
        return OutputReadReply(records=rows, next=1, done=False)

    broker.on(OutputRead, read)
    assert [chunk.data for chunk in client.output(7, follow=False)] == [b"so far"]
    assert [request.wait for request in broker.seen(OutputRead)] == [False, False]


# -- waiting -------------------------------------------------------------------------------------------------


def test_wait_gives_the_job_when_it_has_ended(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda _: iter([JobEnds(jobs=[job_record(7, result="failed", returncode=2)])]))
    job = client.wait(7)
    assert (job.id, job.succeeded, job.returncode) == (7, False, 2)


def test_wait_gives_up_after_its_timeout(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda _: SILENCE)
    with pytest.raises(TimedOut, match=r"job\.wait"):
        client.wait(7, timeout=0.01)
    broker.wait_until(lambda: bool(broker.cancelled))


def test_wait_that_ends_without_the_job_is_the_brokers_fault(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda _: iter(()))
    with pytest.raises(ProtocolError, match=r"job\.wait ended without job"):
        client.wait(7)


def test_waiting_for_an_unknown_job_is_an_error(client: Any, broker: FakeBroker) -> None:
    def unknown(_: JobWait) -> None:
        raise NotFound("no such job")

    broker.on(JobWait, unknown)
    with pytest.raises(NotFound):
        client.wait(7)
    with pytest.raises(NotFound):
        list(client.wait_many([7]))


def test_jobs_waited_for_come_in_the_order_of_their_ends(client: Any, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda _: iter([JobEnds(jobs=[job_record(3)]), JobEnds(jobs=[job_record(1), job_record(2)])]))
    assert [job.id for job in client.wait_many([1, 2, 3, 1])] == [3, 1, 2]
    assert broker.seen(JobWait) == [JobWait(ids=[1, 2, 3])]


def test_waiting_for_no_job_asks_nothing(client: Any, broker: FakeBroker) -> None:
    assert list(client.wait_many([])) == []
    assert broker.requests == []


# -- changing ------------------------------------------------------------------------------------------------


def touch_all(broker: FakeBroker) -> None:
    broker.on(JobRaise, lambda request: JobsTouched(ids=request.ids, errors=[]))
    broker.on(JobKill, lambda request: JobsTouched(ids=request.ids, errors=[]))


def test_one_job_or_several_are_cancelled(client: Any, broker: FakeBroker) -> None:
    touch_all(broker)
    assert client.cancel(7, note="wrong input") == [7]
    assert client.cancel([1, 2]) == [1, 2]
    assert broker.seen(JobRaise) == [
        JobRaise(ids=[7], type="cancel", severity=0, note="wrong input"),
        JobRaise(ids=[1, 2]),
    ]


def test_exception_is_raised_with_type_and_severity(client: Any, broker: FakeBroker) -> None:
    touch_all(broker)
    assert client.raise_exception(7, "checkpoint", severity=3, note="slow") == [7]
    assert broker.seen(JobRaise) == [JobRaise(ids=[7], type="checkpoint", severity=3, note="slow")]


def test_signal_is_sent(client: Any, broker: FakeBroker) -> None:
    touch_all(broker)
    assert client.kill(7, 10) == [7]
    assert client.kill([8, 9]) == [8, 9]
    assert broker.seen(JobKill) == [JobKill(ids=[7], signum=10), JobKill(ids=[8, 9], signum=15)]


def test_touching_no_job_asks_nothing(client: Any, broker: FakeBroker) -> None:
    # On the wire, no ids and no states is a request about all jobs of no state; better not to find out.
    assert client.cancel([]) == client.kill([]) == client.raise_exception([], "x") == []
    assert broker.requests == []


def test_refusal_for_a_job_is_raised(client: Any, broker: FakeBroker) -> None:
    broker.on(JobRaise, lambda _: JobsTouched(ids=[1], errors=[[2, "invalid-transition", "is inactive"]]))
    with pytest.raises(InvalidTransition, match="is inactive"):
        client.cancel([1, 2])


def test_urgency_gives_the_old_one(client: Any, broker: FakeBroker) -> None:
    broker.on(JobUrgency, lambda _: JobUrgencySet(old=16))
    assert client.urgency(7, 31) == 16
    assert broker.seen(JobUrgency) == [JobUrgency(id=7, urgency=31)]


def test_input_goes_to_the_tasks_in_order(client: Any, broker: FakeBroker) -> None:
    broker.on(JobStdin, lambda _: None)
    data = bytes(600 * 1024)
    client.stdin(7, data, tasks=[0, 2], eof=True)
    client.stdin(7, b"more")
    sent = broker.seen(JobStdin)
    assert b"".join(request.data for request in sent[:-1]) == data
    assert [request.eof for request in sent] == [False, False, True, False]
    assert [request.tasks for request in sent] == [[0, 2]] * 3 + [[]]


def test_update_gives_what_holds_now(client: Any, broker: FakeBroker) -> None:
    broker.on(JobUpdate, lambda request: JobUpdated(updates={"duration": 90.0}))
    assert client.update(7, duration="+30") == {"duration": 90.0}
    assert broker.seen(JobUpdate) == [JobUpdate(id=7, updates={"duration": "+30"})]


def test_purge_gives_how_many(client: Any, broker: FakeBroker) -> None:
    broker.on(JobPurge, lambda _: JobPurged(count=12))
    assert client.purge(age=3600, num=10, dry_run=True) == 12
    assert broker.seen(JobPurge) == [JobPurge(age=3600, num=10, dry_run=True)]
