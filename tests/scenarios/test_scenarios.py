"""Scenarios: a command, `----`, what the service did. Blocks are parted by an empty line; # begins a remark.

`pytest tests/scenarios --rewrite` writes what happens now into the files; read the diff before committing it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest
from scenario_stage.commands import run
from scenario_stage.world import World

SCENARIOS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def play(world: World, text: str) -> str:
    """The same file with what happens now."""
    return "\n\n".join(_play_block(world, block) for block in text.strip("\n").split("\n\n")) + "\n"


def _play_block(world: World, block: str) -> str:
    told = list(takewhile(lambda line: line != "----", block.splitlines()))
    commands = [line for line in told if not line.startswith("#")]
    for line in commands:
        run(world, line)
    return "\n".join([*told, "----", *world.tape.take()] if commands else told)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_service_does_what_the_scenario_tells(path: Path, world: World, request: pytest.FixtureRequest) -> None:
    expected = path.read_text()
    happened = play(world, expected)
    if request.config.getoption("--rewrite"):
        path.write_text(happened)
        expected = happened
    assert happened == expected
    assert "BROKEN" not in happened, "an error that nobody answers for"


def test_scenarios_are_there() -> None:
    assert len(SCENARIOS) >= 12
