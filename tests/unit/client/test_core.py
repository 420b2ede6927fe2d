from __future__ import annotations

import pytest

from fluxlike.client.core import ClientCore, is_end, is_last, pack, read_body, read_reply
from fluxlike.errors import BY_CODE, FluxlikeError, InvalidRequest, NotFound, PermissionDenied, ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.instance import Ping
from fluxlike.protocol.jobs import JobEvents, JobUrgencySet, JobWait, Submitted
from fluxlike.protocol.message import ANY, Flag, Kind, Message, decode, encode


def sent(data: bytes) -> Message:
    """The one message in these bytes."""
    (raw,) = FrameReader().feed(data)
    return decode(raw)


def answer(tag: int, body: object = None, *, flags: int = 0, error: FluxlikeError | None = None) -> bytes:
    failure = None if error is None else (error.code, str(error))
    return frame(encode(Message(Kind.RESPONSE, "t", body, matchtag=tag, flags=flags, error=failure)))


def test_request_carries_topic_body_rank_and_tag() -> None:
    tag, data = ClientCore().request(JobEvents(id=7, since=2, wait=True), rank=3)
    message = sent(data)
    assert (message.kind, message.topic, message.nodeid, message.matchtag) == (Kind.REQUEST, "job.events", 3, tag)
    assert message.read(JobEvents) == JobEvents(id=7, since=2, wait=True)
    assert message.flags == Flag.NONE


def test_request_may_be_a_bare_topic_with_a_body() -> None:
    _, data = ClientCore().request("my.topic", {"a": [1, b"x"]}, stream=True, upstream=True)
    message = sent(data)
    assert (message.topic, message.body, message.nodeid) == ("my.topic", {"a": [1, b"x"]}, ANY)
    assert message.flags == Flag.STREAM | Flag.UPSTREAM


def test_every_request_gets_a_tag_of_its_own_and_none_gets_zero() -> None:
    core = ClientCore()
    tags = [core.request(Ping())[0] for _ in range(5)]
    assert len(set(tags)) == 5
    assert 0 not in tags


def test_answer_that_comes_byte_by_byte_is_whole_at_its_last_byte() -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    data = answer(tag, {"old": 3})
    assert [core.feed(data[at : at + 1]) for at in range(len(data) - 1)] == [[]] * (len(data) - 1)
    (message,) = core.feed(data[-1:])
    assert read_reply(message, JobUrgencySet) == JobUrgencySet(old=3)


def test_several_answers_and_the_start_of_another_in_one_read() -> None:
    core = ClientCore()
    tags = [core.request(Ping())[0] for _ in range(3)]
    first, second, third = (answer(tag, {"n": tag}) for tag in tags)
    assert [m.matchtag for m in core.feed(first + second + third[:5])] == tags[:2]
    assert [m.matchtag for m in core.feed(third[5:])] == tags[2:]


def test_answers_to_different_requests_come_in_any_order() -> None:
    core = ClientCore()
    one, two = core.request(Ping())[0], core.request(Ping())[0]
    assert [m.matchtag for m in core.feed(answer(two) + answer(one))] == [two, one]


def test_streams_interleave_with_each_other_and_with_calls() -> None:
    core = ClientCore()
    a = core.request(JobWait(ids=[1]), stream=True)[0]
    b = core.request(JobWait(ids=[2]), stream=True)[0]
    call = core.request(Ping())[0]
    data = b"".join(
        (
            answer(a, {}, flags=Flag.STREAM),
            answer(b, {}, flags=Flag.STREAM),
            answer(call),
            answer(a, {}, flags=Flag.STREAM),
            answer(a, flags=Flag.END),
            answer(b, flags=Flag.END),
        )
    )
    messages = core.feed(data)
    assert [m.matchtag for m in messages] == [a, b, call, a, a, b]
    assert [is_end(m) for m in messages] == [False, False, False, False, True, True]
    assert not any(map(core.is_open, (a, b, call)))


def test_stream_stays_open_until_its_end_mark() -> None:
    core = ClientCore()
    tag, _ = core.request(JobWait(ids=[1]), stream=True)
    core.feed(answer(tag, {}, flags=Flag.STREAM))
    assert core.is_open(tag)
    core.feed(answer(tag, flags=Flag.END))
    assert not core.is_open(tag)


@pytest.mark.parametrize("after", [0, 2])
def test_stream_ends_with_an_error(after: int) -> None:
    core = ClientCore()
    tag, _ = core.request(JobWait(ids=[1]), stream=True)
    for _ in range(after):
        core.feed(answer(tag, {}, flags=Flag.STREAM))
    (message,) = core.feed(answer(tag, error=NotFound("no such job")))
    assert is_last(message)
    assert not core.is_open(tag)
    with pytest.raises(NotFound, match="no such job"):
        read_reply(message, Submitted)


def test_call_is_closed_by_its_first_answer_whatever_that_claims() -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    assert len(core.feed(answer(tag, flags=Flag.STREAM) * 2)) == 1


def test_answers_nobody_waits_for_are_dropped() -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    assert core.feed(answer(tag + 100)) == []
    assert core.feed(answer(tag) + answer(tag)) != []
    assert core.feed(answer(tag)) == []


def test_forgetting_an_open_tag_tells_the_broker_and_drops_what_still_comes() -> None:
    core = ClientCore()
    tag, _ = core.request(JobWait(ids=[1]), stream=True)
    message = sent(core.forget(tag))
    assert (message.kind, message.topic, message.matchtag) == (Kind.REQUEST, "job.wait", tag)
    assert message.flags == Flag.CANCEL
    assert core.feed(answer(tag, {}, flags=Flag.STREAM)) == []


def test_forgetting_what_is_answered_sends_nothing() -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    core.feed(answer(tag))
    assert core.forget(tag) == b""
    assert core.forget(999) == b""


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_error_comes_back_as_the_class_it_had_at_the_broker(code: str) -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    (message,) = core.feed(answer(tag, error=BY_CODE[code]("the reason")))
    with pytest.raises(FluxlikeError, match="the reason") as typed:
        read_reply(message, Submitted)
    with pytest.raises(FluxlikeError, match="the reason") as plain:
        read_body(message)
    assert type(typed.value) is type(plain.value) is BY_CODE[code]


def test_unknown_error_code_stays_readable() -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    raw = frame(encode(Message(Kind.RESPONSE, "t", matchtag=tag, error=("from-the-future", "hm"))))
    (message,) = core.feed(raw)
    with pytest.raises(FluxlikeError, match="from-the-future: hm"):
        read_body(message)


def test_answer_of_another_shape_is_the_brokers_fault_not_the_callers() -> None:
    core = ClientCore()
    tag, _ = core.request(Ping())
    (message,) = core.feed(answer(tag, {"ids": "no list"}))
    with pytest.raises(ProtocolError, match=r"answer to t is not understood: .*ids must be list"):
        read_reply(message, Submitted)


def test_oversized_frame_is_refused_before_it_is_read() -> None:
    core = ClientCore(limit=100)
    with pytest.raises(ProtocolError, match="frame of 101 bytes is over the limit of 100"):
        core.feed((101).to_bytes(4, "big"))


def test_oversized_request_is_refused_and_leaves_no_open_tag() -> None:
    core = ClientCore(limit=100)
    with pytest.raises(InvalidRequest, match=r"broker\.ping: .* over the limit of 100"):
        core.request(Ping(pad=b"x" * 100))
    tag, _ = core.request(Ping())
    assert [m.matchtag for m in core.feed(answer(tag))] == [tag]


@pytest.mark.parametrize("value", [object(), {1, 2}, 1 << 70, 1j], ids=["object", "set", "huge", "complex"])
def test_value_that_no_message_holds_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match=r"my\.topic: the request holds a value that no message can"):
        ClientCore().request("my.topic", {"deep": [value]})
    # What was begun must not show up in front of the next one.
    assert pack("my.topic", 1) == b"\x01"


def test_endless_nesting_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidRequest, match="no message can"):
        ClientCore().request("my.topic", loop)


@pytest.mark.parametrize(
    "raw",
    [b"\xc1", b"\x93\x01\x02\x03", encode(Message(Kind.EVENT, "t")), encode(Message(Kind.REQUEST, "t"))],
    ids=["not msgpack", "short array", "an event", "a request"],
)
def test_bytes_that_are_no_answer_are_a_protocol_error(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        ClientCore().feed(frame(raw))


def test_complaint_about_the_connection_itself_is_raised() -> None:
    core = ClientCore()
    core.request(Ping())
    with pytest.raises(PermissionDenied, match="uid 7 does not own this instance"):
        core.feed(answer(0, error=PermissionDenied("uid 7 does not own this instance")))
