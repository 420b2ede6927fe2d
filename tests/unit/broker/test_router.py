"""Every message of a broker passes the router: it is served here, sent on, or refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import HostUnreachable, InvalidRequest, NoSuchService, NotFound
from fluxlike.protocol.message import Flag, Kind, Message, decode, encode
from fluxlike.protocol.payload import Payload
from fluxlike_broker.call import Call
from fluxlike_broker.service import request


class Greeting(Payload):
    text: str


class Greet(Payload):
    topic = "greet.now"
    name: str = "you"


class GreetLater(Payload):
    topic = "greet.later"


class GreetMany(Payload):
    topic = "greet.many"


class GreetBadly(Payload):
    topic = "greet.badly"


class GreetNobody(Payload):
    topic = "greet.nobody"


class Elsewhere(Payload):
    topic = "elsewhere.ask"


class Greeter:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.cancelled = 0

    @request(Greet)
    def greet(self, body: Greet, call: Call) -> Greeting:
        return Greeting(text=f"hello {body.name}")

    @request(GreetLater)
    def later(self, body: GreetLater, call: Call) -> None:
        self._keep(call)

    @request(GreetMany)
    def many(self, body: GreetMany, call: Call) -> None:
        self._keep(call)

    @request(GreetBadly)
    def badly(self, body: GreetBadly, call: Call) -> None:
        raise KeyError("a mistake of ours")

    @request(GreetNobody)
    def nobody(self, body: GreetNobody, call: Call) -> None:
        raise NotFound("there is nobody")

    def _keep(self, call: Call) -> None:
        self.calls.append(call)
        call.on_cancel(self._count)

    def _count(self) -> None:
        self.cancelled += 1


@pytest.fixture
def greeter(root: Any, middle: Any) -> Greeter:
    """One service, offered by the root and, for tests that look at rank 1, there too."""
    made = Greeter()
    root.router.register(made)
    middle.router.register(made)
    return made


def errors(messages: list[Message]) -> list[tuple[str, str] | None]:
    return [message.error for message in messages]


# -- requests ---------------------------------------------------------------------------------------------------


def test_request_to_oneself_is_served_here_with_nothing_encoded(root: Any, greeter: Greeter) -> None:
    root.ask(Greet(name="me"), nodeid=0)
    assert root.replies[0].read(Greeting) is root.replies[0].body
    assert root.replies[0].body == Greeting(text="hello me")
    assert root.links.sent == []


def test_request_to_any_is_served_by_the_nearest_broker_that_has_the_service(middle: Any, greeter: Greeter) -> None:
    middle.ask(Greet())
    assert middle.replies[0].body == Greeting(text="hello you")
    assert middle.links.sent == []


def test_request_to_any_goes_up_where_the_service_is_not(middle: Any) -> None:
    middle.ask(Greet())
    assert middle.links.ways() == ["up"]
    assert middle.replies == []


def test_request_to_any_that_nobody_serves_is_refused_at_the_root(root: Any) -> None:
    root.ask(Greet())
    assert root.replies[0].error == (NoSuchService.code, "no service answers greet.now")


def test_request_to_any_without_a_parent_attached_is_unreachable(middle: Any) -> None:
    middle.links.parent = False
    middle.ask(Greet())
    assert root_cause(middle) == (HostUnreachable.code, "rank 1 has no connection to its parent")


def root_cause(net: Any) -> tuple[str, str] | None:
    (reply,) = net.replies
    error: tuple[str, str] | None = reply.error
    return error


def test_request_to_a_rank_below_goes_down(root: Any) -> None:
    root.ask(Greet(), nodeid=2)
    assert root.links.ways() == ["to 2"]


def test_request_to_a_rank_that_is_not_below_goes_up(middle: Any) -> None:
    middle.ask(Greet(), nodeid=2)
    assert middle.links.ways() == ["up"]


def test_request_to_a_rank_that_nobody_knows_is_refused_at_the_root(root: Any) -> None:
    root.ask(Greet(), nodeid=9)
    assert root_cause(root) == (HostUnreachable.code, "rank 9 is not reachable")


def test_request_before_the_overlay_is_there_is_refused(root: Any) -> None:
    alone = type(root.router)(0, 500, 1000)
    replies: list[Message] = []
    alone.request(Greet(), replies.append, nodeid=1)
    alone.request(Greet(), replies.append)
    assert [reply.failure().__class__ for reply in replies] == [HostUnreachable, NoSuchService]


def test_unknown_topic_of_a_known_service_is_refused_by_name(root: Any, greeter: Greeter) -> None:
    root.client_asks(Unknown())
    assert errors(root.clients.got) == [(NoSuchService.code, "no service answers greet.unknown on rank 0")]


class Unknown(Payload):
    topic = "greet.unknown"


def test_upstream_request_skips_the_askers_own_broker(middle: Any, greeter: Greeter) -> None:
    middle.client_asks(Greet(), flags=Flag.UPSTREAM)
    assert middle.links.ways() == ["up"]


def test_upstream_request_is_served_by_the_next_broker_above(root: Any, greeter: Greeter) -> None:
    message = Message(Kind.REQUEST, "greet.now", Greet(), matchtag=5, sender=77, flags=Flag.UPSTREAM, route=[1])
    root.router.forward(decode(encode(message)))
    ((way, answer),) = root.links.sent
    assert (way, answer.kind, answer.matchtag, answer.sender) == ("to 1", Kind.RESPONSE, 5, 77)
    assert answer.body == Greeting(text="hello you")


def test_upstream_request_of_the_root_has_nowhere_to_go(root: Any, greeter: Greeter) -> None:
    root.client_asks(Greet(), flags=Flag.UPSTREAM)
    assert errors(root.clients.got) == [(NoSuchService.code, "no service answers greet.now")]


def test_forwarded_request_notes_where_it_passed(middle: Any) -> None:
    message = Message(Kind.REQUEST, "greet.now", Greet(), nodeid=0, route=[3])
    middle.router.forward(message)
    assert middle.links.sent[0][1].route == [3, 1]


def test_request_that_goes_in_circles_is_answered_at_last(middle: Any) -> None:
    message = Message(Kind.REQUEST, "greet.now", Greet(), nodeid=9, matchtag=5, sender=77, route=[3, 1] * 40)
    middle.router.forward(message)
    ((way, answer),) = middle.links.sent
    assert (way, answer.kind, answer.error[0]) == ("to 3", Kind.RESPONSE, HostUnreachable.code)


def test_response_that_goes_in_circles_is_dropped(middle: Any) -> None:
    response = Message(Kind.RESPONSE, "greet.now", nodeid=9, sender=77)
    for _ in range(100):
        middle.router.forward(response)
    assert len(middle.links.sent) < 100


def test_body_that_does_not_fit_is_refused_at_the_door(root: Any, greeter: Greeter) -> None:
    root.router.handle(Message(Kind.REQUEST, "greet.now", {"name": 7}, sender=1001, route=[0]))
    assert errors(root.clients.got) == [(InvalidRequest.code, "greet.now: name must be str")]


def test_payload_that_is_no_msgpack_is_refused_at_the_door(root: Any, greeter: Greeter) -> None:
    root.router.handle(Message(Kind.REQUEST, "greet.now", sender=1001, route=[0], data=b"\xc1"))
    assert errors(root.clients.got)[0][0] == "protocol"  # type: ignore[index]


def test_error_that_a_handler_raises_is_its_answer(root: Any, greeter: Greeter) -> None:
    root.client_asks(GreetNobody())
    assert errors(root.clients.got) == [(NotFound.code, "there is nobody")]


def test_handler_that_breaks_answers_internal_and_is_logged(
    root: Any, greeter: Greeter, caplog: pytest.LogCaptureFixture
) -> None:
    root.client_asks(GreetBadly())
    assert errors(root.clients.got) == [("internal", "internal error in greet.badly; see dmesg of rank 0")]
    assert "a mistake of ours" in caplog.text


def test_handler_learns_who_asks(root: Any, greeter: Greeter) -> None:
    root.client_asks(GreetLater())
    assert greeter.calls[0].message.userid == 42
    root.ask(GreetLater())
    assert greeter.calls[1].message.userid == 500


@pytest.mark.parametrize("payload", [Greet(), GreetNobody(), GreetBadly(), Elsewhere(), Unknown()])
def test_request_that_wants_no_answer_gets_none(root: Any, greeter: Greeter, payload: Payload) -> None:
    root.client_asks(payload, flags=Flag.NO_RESPONSE)
    root.client_asks(payload, flags=Flag.NO_RESPONSE, nodeid=9)
    root.router.request(payload)
    assert root.clients.got == []


def test_control_message_is_not_for_a_router(root: Any, caplog: pytest.LogCaptureFixture) -> None:
    root.router.handle(Message(Kind.CONTROL, "hello"))
    assert "control message hello is not for a router" in caplog.text
    assert root.links.sent == []


# -- answers, now, later and many -------------------------------------------------------------------------------


def test_answer_may_come_later(root: Any, greeter: Greeter) -> None:
    root.ask(GreetLater())
    assert root.replies == []
    greeter.calls[0].respond(Greeting(text="at last"))
    assert root.replies[0].body == Greeting(text="at last")


def test_only_the_first_answer_counts(root: Any, greeter: Greeter) -> None:
    root.ask(GreetLater())
    greeter.calls[0].respond(Greeting(text="one"))
    greeter.calls[0].respond(Greeting(text="two"))
    greeter.calls[0].fail(NotFound("three"))
    greeter.calls[0].send(Greeting(text="four"))
    greeter.calls[0].end()
    assert [reply.body for reply in root.replies] == [Greeting(text="one")]


def test_stream_gives_many_answers_and_an_end(root: Any, greeter: Greeter) -> None:
    root.ask(GreetMany(), stream=True)
    greeter.calls[0].send(Greeting(text="one"))
    greeter.calls[0].send(Greeting(text="two"))
    greeter.calls[0].end()
    assert [(r.body and r.body.text, r.flags) for r in root.replies] == [
        ("one", Flag.STREAM),
        ("two", Flag.STREAM),
        (None, Flag.END),
    ]


def test_stream_may_end_with_an_error(root: Any, greeter: Greeter) -> None:
    root.ask(GreetMany(), stream=True)
    greeter.calls[0].send(Greeting(text="one"))
    greeter.calls[0].fail(NotFound("no more"))
    assert errors(root.replies) == [None, (NotFound.code, "no more")]


def test_each_request_has_its_own_answer(root: Any, greeter: Greeter) -> None:
    tags = [root.ask(GreetLater()), root.ask(GreetLater())]
    greeter.calls[1].respond(Greeting(text="second"))
    greeter.calls[0].respond(Greeting(text="first"))
    assert [(reply.matchtag, reply.body.text) for reply in root.replies] == [(tags[1], "second"), (tags[0], "first")]


def test_response_for_a_client_here_is_delivered(middle: Any) -> None:
    middle.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=1, sender=1001))
    assert len(middle.clients.got) == 1


def test_response_for_a_client_that_is_gone_is_dropped(middle: Any) -> None:
    middle.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=1, sender=1999))
    assert (middle.clients.got, middle.links.sent) == ([], [])


def test_response_for_an_earlier_life_of_this_broker_is_dropped(middle: Any) -> None:
    middle.ask(Greet())
    middle.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=1, sender=999, matchtag=1))
    assert middle.replies == []


def test_response_that_comes_twice_is_told_once(middle: Any) -> None:
    tag = middle.ask(Greet())
    for _ in range(2):
        middle.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=1, sender=1000, matchtag=tag))
    assert len(middle.replies) == 1


@pytest.mark.parametrize(("nodeid", "way"), [(3, "to 3"), (0, "up"), (7, "up")])
def test_response_for_another_rank_finds_its_way(middle: Any, nodeid: int, way: str) -> None:
    middle.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=nodeid, sender=77))
    assert middle.links.ways() == [way]


def test_response_for_a_rank_that_nobody_knows_is_dropped(root: Any) -> None:
    root.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=9, sender=77))
    assert root.links.sent == []


# -- askers that go away ----------------------------------------------------------------------------------------


def test_cancel_tells_the_handler_and_nothing_is_answered_then(root: Any, greeter: Greeter) -> None:
    root.client_asks(GreetMany(), flags=Flag.STREAM, tag=8)
    root.client_asks(GreetMany(), flags=Flag.CANCEL, tag=8)
    greeter.calls[0].send(Greeting(text="too late"))
    greeter.calls[0].end()
    assert greeter.cancelled == 1
    assert root.clients.got == []


def test_cancel_of_something_answered_already_is_harmless(root: Any, greeter: Greeter) -> None:
    root.client_asks(GreetLater(), tag=8)
    greeter.calls[0].respond(Greeting(text="done"))
    root.client_asks(GreetLater(), flags=Flag.CANCEL, tag=8)
    assert greeter.cancelled == 0


def test_cancel_touches_no_other_request(root: Any, greeter: Greeter) -> None:
    root.client_asks(GreetLater(), tag=8)
    root.client_asks(GreetLater(), flags=Flag.CANCEL, tag=9)
    assert greeter.cancelled == 0
    greeter.calls[0].respond(Greeting(text="still here"))
    assert len(root.clients.got) == 1


def test_cancel_follows_its_request_to_another_rank(middle: Any) -> None:
    middle.client_asks(Elsewhere(), flags=Flag.CANCEL)
    middle.client_asks(Elsewhere(), flags=Flag.CANCEL, nodeid=3)
    assert middle.links.ways() == ["up", "to 3"]


def test_cancel_that_reaches_nobody_is_not_answered(root: Any) -> None:
    root.client_asks(Elsewhere(), flags=Flag.CANCEL)
    root.client_asks(Elsewhere(), flags=Flag.CANCEL, nodeid=9)
    assert root.clients.got == []


def test_calls_of_a_lost_rank_are_cancelled_and_no_others(root: Any, greeter: Greeter) -> None:
    for rank in (1, 2):
        root.router.forward(Message(Kind.REQUEST, "greet.later", GreetLater(), sender=77, matchtag=1, route=[rank]))
    root.router.drop_calls_from(1)
    assert (greeter.calls[0].done, greeter.calls[1].done) == (True, False)
    assert greeter.cancelled == 1


def test_own_requests_to_lost_ranks_fail_at_once(root: Any) -> None:
    root.ask(Greet(), nodeid=1)
    root.ask(Greet(), nodeid=2)
    root.router.fail_pending({1}, HostUnreachable("rank 1 is lost"))
    assert errors(root.replies) == [(HostUnreachable.code, "rank 1 is lost")]


def test_answer_after_the_failure_is_not_told(root: Any) -> None:
    tag = root.ask(Greet(), nodeid=1)
    root.router.fail_pending({1}, HostUnreachable("rank 1 is lost"))
    root.router.forward(Message(Kind.RESPONSE, "greet.now", nodeid=0, sender=1000, matchtag=tag))
    assert len(root.replies) == 1


# -- events -----------------------------------------------------------------------------------------------------


def event(name: str, sequence: int = 1) -> Message:
    return Message(Kind.EVENT, name, {"n": sequence}, matchtag=sequence)


def test_event_goes_to_subscribers_of_its_prefix_and_down_the_tree(middle: Any) -> None:
    seen: list[tuple[str, Any, int]] = []
    middle.router.subscribe("job.", lambda *what: seen.append(what))
    middle.router.handle(event("job.state", 7))
    middle.router.handle(event("overlay.left", 8))
    assert seen == [("job.state", {"n": 7}, 7)]
    assert middle.links.ways() == ["down", "down"]


def test_ended_subscription_hears_no_more(middle: Any) -> None:
    seen: list[int] = []
    end = middle.router.subscribe("", lambda name, body, sequence: seen.append(sequence))
    middle.router.handle(event("a", 1))
    end()
    middle.router.handle(event("a", 2))
    assert seen == [1]


def test_subscriber_may_end_its_subscription_while_it_is_told(middle: Any) -> None:
    seen: list[str] = []

    def first(*what: object) -> None:
        seen.append("first")
        end()

    end = middle.router.subscribe("", first)
    middle.router.subscribe("", lambda *what: seen.append("second"))
    middle.router.handle(event("a"))
    middle.router.handle(event("a"))
    assert seen == ["first", "second", "second"]


def test_subscriber_that_breaks_keeps_the_event_from_nobody(middle: Any, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def broken(name: str, body: Any, sequence: int) -> None:
        raise KeyError("a mistake of ours")

    middle.router.subscribe("", broken)
    middle.router.subscribe("", lambda name, body, sequence: seen.append(sequence))
    middle.router.handle(event("a", 3))
    assert seen == [3]
    assert middle.links.ways() == ["down"]
    assert "a mistake of ours" in caplog.text
