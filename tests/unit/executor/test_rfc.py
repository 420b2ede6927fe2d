"""The examples of docs/rfc/003 are messages that the executor takes, or could have sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxlike_executor import messages
from fluxlike_executor.instance import Instance
from fluxlike_executor.job import check_row
from fluxlike_executor.spec import SpecCache
from fluxlike_executor.wire import decode, frame

RFC = Path(__file__).parents[3] / "docs" / "rfc" / "003-executor.md"


def examples() -> dict[str, list[Any]]:
    blocks = [part.split("```")[0] for part in RFC.read_text().split("```json")[1:]]
    return {message[0]: message for message in map(json.loads, blocks)}


@pytest.mark.parametrize("kind", ["hello", "start", "results"])
def test_an_example_survives_the_wire(kind: str) -> None:
    message = examples()[kind]
    assert decode(frame(message)[4:]) == message


def test_the_example_greeting_is_taken() -> None:
    assert Instance(examples()["hello"][1]).host == "node-1"


def test_the_example_start_is_taken() -> None:
    specs, rows = messages.start(examples()["start"])
    cache = SpecCache()
    cache.learn(specs)
    for row in rows:
        check_row(row)
        assert cache.get(row[2]) is not None
