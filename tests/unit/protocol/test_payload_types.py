from __future__ import annotations

from typing import Any

import pytest

import fluxlike.protocol.execution
import fluxlike.protocol.instance
import fluxlike.protocol.jobs
from fluxlike.errors import InvalidRequest
from fluxlike.protocol.payload import Payload


class Sample(Payload):
    topic = "test.sample"
    number: int
    real: float = 0.0
    text: str = ""
    data: bytes = b""
    flag: bool = False
    numbers: list[int] = []  # noqa: RUF012  as all payloads have it: nobody changes them
    rows: list[dict[str, Any]] = []  # noqa: RUF012
    table: dict[str, Any] = {}  # noqa: RUF012
    anything: Any = None
    maybe: int | None = None
    either: list[int | str] | str = ""


GOOD: dict[str, list[object]] = {
    "number": [0, -1, 1 << 63],
    "real": [1, 1.5],
    "text": ["", "ƒ"],
    "data": [b"", b"\xff"],
    "flag": [True, False],
    "numbers": [[], [1, 2], (1, 2)],
    "rows": [[], [{}], [{"a": 1}]],
    "table": [{}, {"a": [1]}],
    "anything": [None, 1, "x", [], {}],
    "maybe": [None, 3],
    "either": ["x", [], [1, "a"]],
}

BAD: dict[str, list[object]] = {
    "number": [None, True, 1.0, "1"],
    "real": [None, False, "1.0"],
    "text": [None, b"x", 1],
    "data": [None, "x"],
    "flag": [None, 0, 1],
    "numbers": [None, 1, [1, "2"], [True], {1: 2}],
    "rows": [None, {}, [1]],
    "table": [None, []],
    "maybe": ["x", True, 1.5],
    "either": [None, 1, [b"x"], [None]],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in GOOD.items() for value in values])
def test_value_of_the_declared_type_is_taken(field: str, value: object) -> None:
    sample = Sample.from_wire({"number": 1, field: value})
    assert getattr(sample, field) == value
    assert Sample.from_wire(sample.to_wire()) == sample


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_value_of_another_type_is_refused_with_field_and_type(field: str, value: object) -> None:
    with pytest.raises(InvalidRequest, match=f"test.sample: {field} must be ") as caught:
        Sample.from_wire({"number": 1, field: value})
    assert str(caught.value).endswith(Sample.__annotations__[field])


def test_missing_and_unknown_fields_are_named() -> None:
    with pytest.raises(InvalidRequest, match=r"test\.sample: number is missing"):
        Sample.from_wire(None)
    with pytest.raises(InvalidRequest, match=r"test\.sample: unknown field 'colour'"):
        Sample.from_wire({"number": 1, "colour": "red"})
    with pytest.raises(InvalidRequest, match=r"test\.sample: body must be a map, not list"):
        Sample.from_wire([1])


def test_fields_of_a_base_are_checked_in_a_subclass() -> None:
    class More(Sample):
        extra: str

    assert More.from_wire({"number": 1, "extra": "x"}).number == 1
    with pytest.raises(InvalidRequest, match="number must be int"):
        More.from_wire({"number": "1", "extra": "x"})


def test_type_that_no_message_has_is_a_mistake_of_ours() -> None:
    class Odd(Payload):
        odd: set[int]

    with pytest.raises(TypeError, match=r"'set\[int\]' is no type that a payload may have"):
        Odd.from_wire({"odd": []})


MODULES = (fluxlike.protocol.execution, fluxlike.protocol.instance, fluxlike.protocol.jobs)
CLASSES = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Payload)
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_payload_declares_types_that_can_be_checked(cls: type[Payload]) -> None:
    with pytest.raises(InvalidRequest, match="unknown field 'no such field'"):
        cls.from_wire({"no such field": None})
