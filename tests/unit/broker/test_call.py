"""One request as its handler sees it."""

from __future__ import annotations

from fluxlike.protocol.message import Flag, Kind, Message
from fluxlike_broker.call import Call


class Tape:
    def __init__(self) -> None:
        self.seen: list[tuple[object, int]] = []

    def answer(self, call: Call, response: Message) -> None:
        self.seen.append((response.body, response.flags))


def call_of(tape: Tape, flags: int = 0) -> Call:
    return Call(tape, Message(Kind.REQUEST, "t.t", sender=7, matchtag=9, flags=flags, route=[3, 1, 0]))


def test_request_is_named_by_where_it_came_from() -> None:
    assert call_of(Tape()).key == (3, 7, 9)


def test_answer_ends_the_call() -> None:
    tape = Tape()
    call = call_of(tape)
    call.respond("yes")
    assert call.done
    assert tape.seen == [("yes", Flag.NONE)]


def test_call_that_wants_no_answer_is_done_from_the_start() -> None:
    tape = Tape()
    call = call_of(tape, Flag.NO_RESPONSE)
    call.send("a")
    call.respond("b")
    assert call.done
    assert tape.seen == []


def test_cancelled_call_is_told_once_and_answers_nothing() -> None:
    tape, told = Tape(), []
    call = call_of(tape)
    call.on_cancel(lambda: told.append(1))
    call.cancel()
    call.cancel()
    call.respond("late")
    assert (told, tape.seen, call.done) == ([1], [], True)


def test_answered_call_cannot_be_cancelled() -> None:
    told: list[int] = []
    call = call_of(Tape())
    call.on_cancel(lambda: told.append(1))
    call.end()
    call.cancel()
    assert told == []


def test_cancel_without_anybody_to_tell_is_fine() -> None:
    call = call_of(Tape())
    call.cancel()
    assert call.done
