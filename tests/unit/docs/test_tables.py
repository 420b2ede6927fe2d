"""Tables of the RFCs are those of the code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fluxlike.config.registry import values
from fluxlike.config.settings import Settings
from fluxlike.errors import BY_CODE
from fluxlike.job import states as job
from fluxlike.job.states import ACTIVE, EVENTS, NEXT, RESULTS, State
from fluxlike.lifecycle import states as life
from fluxlike.protocol import execution, instance, internal, jobs
from fluxlike.protocol.message import MAX_FRAME, Flag, Kind, Message, decode, encode
from fluxlike.protocol.payload import Payload
from fluxlike.tree.health import Health
from fluxlike_broker.overlay import Overlay

MESSAGES, OVERLAY, JOB_EVENTS = (f"docs/rfc/{name}.md" for name in ("001-message", "002-overlay", "004-job-events"))


# -- 001 ----------------------------------------------------------------------------------------------------


def test_message_fields_stand_in_their_order(page: Callable[[str], Any]) -> None:
    names = [row[0] for row in page(MESSAGES).tables("field", "type", "meaning")]
    sent = {"kind": 1, "topic": "a.b", "nodeid": 2, "matchtag": 3, "sender": 4, "userid": 5, "roles": 6, "flags": 7}
    message = Message(**sent, error=("invalid", "text"), route=[8], data=b"\x80")
    again = decode(encode(message))
    assert names == [*sent, "error", "route", "data"]
    assert [getattr(again, name) for name in names] == [*sent.values(), ("invalid", "text"), [8], b"\x80"]


def test_kinds_and_flags_have_their_values(page: Callable[[str], Any]) -> None:
    kinds = {name: int(value) for name, value, _ in page(MESSAGES).tables("kind", "value", "meaning")}
    flags = {name: int(value) for name, value, _ in page(MESSAGES).tables("flag", "value", "meaning")}
    assert kinds == constants(Kind)
    assert flags == {name.replace("_", " "): value for name, value in constants(Flag).items() if value}


def constants(cls: type) -> dict[str, int]:
    return {name.lower(): value for name, value in vars(cls).items() if name.isupper()}


def test_limit_of_a_frame_is_told(page: Callable[[str], Any]) -> None:
    assert f"larger than {MAX_FRAME} bytes" in page(MESSAGES).text


def test_every_error_code_is_explained(page: Callable[[str], Any]) -> None:
    assert {row[0] for row in page(MESSAGES).tables("code", "meaning")} == set(BY_CODE)


def topics(*modules: Any) -> dict[str, str]:
    """topic -> its fields, those with a default marked."""
    classes = [thing for module in modules for thing in vars(module).values() if isinstance(thing, type)]
    return {
        cls.topic: " ".join(name if name in cls.required else f"{name}?" for name in cls.fields)
        for cls in classes
        if issubclass(cls, Payload) and cls.topic
    }


def test_every_topic_is_listed_with_its_fields(page: Callable[[str], Any]) -> None:
    listed = {topic: fields for topic, fields, _ in page(MESSAGES).tables("topic", "fields", "answer")}
    assert listed == topics(jobs, instance, execution)


def test_topics_inside_rank_0_are_no_part_of_the_protocol(page: Callable[[str], Any]) -> None:
    listed = {row[0] for row in page(MESSAGES).tables("topic", "fields", "answer")}
    assert not listed & topics(internal).keys()


def test_example_messages_are_messages(page: Callable[[str], Any]) -> None:
    for line in page(MESSAGES).code("json")[0].splitlines():
        *fields, body = json.loads(line)
        kind, topic, nodeid, matchtag, sender, userid, roles, flags, error, route = fields
        message = Message(
            kind, topic, body, nodeid=nodeid, matchtag=matchtag, sender=sender, userid=userid, roles=roles,
            flags=flags, error=error, route=route,
        )  # fmt: skip
        assert decode(encode(message)).body == body


# -- 002 ----------------------------------------------------------------------------------------------------


def test_control_messages_are_those_that_are_handled(page: Callable[[str], Any]) -> None:
    listed = [row[0] for row in page(OVERLAY).tables("message", "body", "meaning")]
    handled = [*Overlay._CONTROL_FROM_BELOW, *Overlay._CONTROL_FROM_ABOVE]
    assert sorted(listed) == sorted(handled)


def test_liveness_has_the_defaults(page: Callable[[str], Any]) -> None:
    defaults = values(Settings())
    for name, shown, _ in page(OVERLAY).tables("setting", "default", "meaning"):
        assert defaults[name] == shown


def test_health_has_its_words(page: Callable[[str], Any]) -> None:
    assert [row[0] for row in page(OVERLAY).tables("status", "meaning")] == [str(health) for health in Health]


def test_phases_are_listed_in_their_order(page: Callable[[str], Any]) -> None:
    assert [row[0] for row in page(OVERLAY).tables("phase", "what happens")] == [str(phase) for phase in life.Phase]


def test_life_cycle_is_the_table(page: Callable[[str], Any]) -> None:
    listed = {(phase, event): following for phase, event, following in page(OVERLAY).tables("phase", "event", "next")}
    assert listed == {(str(phase), str(event)): str(following) for (phase, event), following in life.NEXT.items()}


# -- 004 ----------------------------------------------------------------------------------------------------


def test_states_have_their_bits(page: Callable[[str], Any]) -> None:
    rows = page(JOB_EVENTS).tables("state", "bit", "what the job waits for")
    assert {name: int(bit) for name, bit, _ in rows} == {state.name: state.value for state in State}


def test_which_event_may_happen_when_is_the_table(page: Callable[[str], Any]) -> None:
    listed: dict[tuple[State, str], State] = {}
    for name, event, following in page(JOB_EVENTS).tables("state", "event", "next"):
        alike = name.startswith("any")
        for state in [state for state in State if state & ACTIVE] if alike else [State[name]]:
            listed.setdefault((state, event), state if following == "unchanged" else State[following])
    assert listed == NEXT


def test_every_event_has_its_context(page: Callable[[str], Any]) -> None:
    assert {row[0] for row in page(JOB_EVENTS).tables("event", "context")} == EVENTS


def test_every_result_is_explained(page: Callable[[str], Any]) -> None:
    assert [row[0] for row in page(JOB_EVENTS).tables("result", "when")] == list(RESULTS)


@pytest.mark.parametrize(("word", "mask"), [("pending", job.PENDING), ("running", job.RUNNING)])
def test_words_for_several_states_are_explained(page: Callable[[str], Any], word: str, mask: int) -> None:
    names = [state.name for state in State if state & mask]
    text = f"{', '.join(names[:-1])} and {names[-1]}"
    assert f"`{word}` is {text}" in " ".join(page(JOB_EVENTS).text.split())
