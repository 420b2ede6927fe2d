"""Payload classes: what they declare is what they check, at the door."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.protocol.payload import Payload


class Nested(Payload):
    topic = "test.nested"
    id: int
    note: str = ""
    rows: list[list[int]] = []  # noqa: RUF012  as payloads are written
    when: float | None = None
    table: dict[str, Any] = {}  # noqa: RUF012  as payloads are written
    limit: ClassVar[int] = 3


class Wider(Nested):
    topic = "test.wider"
    data: bytes
    loud: bool = False


def test_fields_are_what_the_class_and_its_bases_declare() -> None:
    assert Nested.fields == ("id", "note", "rows", "when", "table")
    assert Wider.fields == (*Nested.fields, "data", "loud")
    assert (Nested.required, Wider.required) == ({"id"}, {"id", "data"})


def test_defaults_fill_what_is_not_given() -> None:
    made = Nested(id=1)
    assert made.to_wire() == {"id": 1, "note": "", "rows": [], "when": None, "table": {}}


def test_missing_field_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="Wider lacks data, id"):
        Wider()  # type: ignore[call-arg]  # that is the mistake


def test_wire_form_round_trips() -> None:
    made = Wider(id=1, data=b"\0\xff", rows=[[1, 2]], when=2.5)
    assert Wider.from_wire(made.to_wire()) == made


def test_payloads_are_equal_by_class_and_content() -> None:
    assert Nested(id=1) == Nested(id=1, note="")
    assert Nested(id=1) != Nested(id=2)
    assert Nested(id=1) != Wider(id=1, data=b"")
    assert Nested(id=1) != "something else"


def test_payloads_are_not_hashable() -> None:
    with pytest.raises(TypeError, match="not hashable"):
        hash(Nested(id=1))


def test_repr_shows_the_fields() -> None:
    assert repr(Wider(id=1, data=b"x")).startswith("Wider(id=1, note='', ")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ([], "test.nested: body must be a map, not list"),
        ("text", "test.nested: body must be a map, not str"),
        ({}, "test.nested: id is missing"),
        (None, "test.nested: id is missing"),
        ({"id": 1, "colour": 2}, "test.nested: unknown field 'colour'"),
        ({"id": 1, 7: 2}, "test.nested: unknown field 7"),
        ({"id": "1"}, "test.nested: id must be int"),
        ({"id": True}, "test.nested: id must be int"),
        ({"id": 1.0}, "test.nested: id must be int"),
        ({"id": None}, "test.nested: id must be int"),
        ({"id": 1, "note": b"x"}, "test.nested: note must be str"),
        ({"id": 1, "rows": [1]}, "test.nested: rows must be list[list[int]]"),
        ({"id": 1, "rows": [[1], ["x"]]}, "test.nested: rows must be list[list[int]]"),
        ({"id": 1, "rows": {}}, "test.nested: rows must be list[list[int]]"),
        ({"id": 1, "when": "now"}, "test.nested: when must be float | None"),
        ({"id": 1, "when": False}, "test.nested: when must be float | None"),
        ({"id": 1, "table": []}, "test.nested: table must be dict[str, Any]"),
        ({"id": 1, "limit": 4}, "test.nested: unknown field 'limit'"),
    ],
)
def test_body_that_does_not_fit_is_refused_by_field(body: object, complaint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Nested.from_wire(body)
    assert str(caught.value) == complaint


def test_whole_numbers_and_tuples_pass_where_floats_and_lists_are_declared() -> None:
    made = Nested.from_wire({"id": 1, "when": 3, "rows": ((1,), (2,))})
    assert (made.when, made.rows) == (3, ((1,), (2,)))


def test_class_without_topic_goes_by_its_name() -> None:
    class Answer(Payload):
        text: str

    with pytest.raises(InvalidRequest, match=r"^Answer: text is missing$"):
        Answer.from_wire({})


def test_type_that_no_message_uses_is_our_mistake_at_the_first_check() -> None:
    class Odd(Payload):
        names: set[str]

    with pytest.raises(TypeError, match="no type that a payload may have"):
        Odd.from_wire({"names": []})


def all_payloads() -> list[type[Payload]]:
    found = []
    for module in ("jobs", "instance", "execution", "internal"):
        members = vars(importlib.import_module(f"fluxlike.protocol.{module}")).values()
        found += [m for m in members if isinstance(m, type) and issubclass(m, Payload) and m is not Payload]
    return found


@pytest.mark.parametrize("payload", all_payloads(), ids=lambda payload: payload.__name__)
def test_every_payload_class_can_check_what_it_declares(payload: type[Payload]) -> None:
    """An unknown field makes the checks be built; a type they do not know would show here, not at a user's."""
    with pytest.raises(InvalidRequest, match="unknown field"):
        payload.from_wire({"no such field": 1})


def test_no_two_payload_classes_share_a_topic() -> None:
    topics = [payload.topic for payload in all_payloads() if payload.topic]
    assert sorted(topics) == sorted(set(topics))
