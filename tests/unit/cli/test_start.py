from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from fluxlike_cli.main import run


class Executed(Exception):
    """Where a real exec never comes back from."""


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Command lines that `start` became, with a broker installed beside Python."""
    (tmp_path / "fluxlike-broker").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    seen: list[list[str]] = []

    def become(path: str, args: list[str]) -> None:
        assert path == args[0]
        seen.append(args)
        raise Executed

    monkeypatch.setattr(os, "execv", become)
    return seen


def start(*args: str) -> None:
    with pytest.raises(Executed):
        run(["start", *args])


def test_it_becomes_the_broker_beside_python(executed: list[list[str]], tmp_path: Path) -> None:
    start()
    assert executed == [[str(tmp_path / "fluxlike-broker")]]


def test_options_become_the_broker_s(executed: list[list[str]]) -> None:
    start(
        "-s4", "--statedir", "/s", "--store=postgresql://d/j", "--conf=a", "--conf=b", "-S", "x=1", "-S", "y=2",
        "--test-hosts=n[0-3]", "--detach",
    )  # fmt: skip
    assert executed[0][1:] == [
        "--size", "4", "--statedir", "/s", "--store", "postgresql://d/j", "--conf", "a", "--conf", "b",
        "--set", "x=1", "--set", "y=2",
        "--test-hosts", "n[0-3]", "--detach",
    ]  # fmt: skip


@pytest.mark.parametrize("args", [["-s2", "--", "ls", "-s"], ["-s2", "ls", "-s"]])
def test_the_program_keeps_its_options(executed: list[list[str]], args: list[str]) -> None:
    start(*args)
    assert executed[0][1:] == ["--size", "2", "--", "ls", "-s"]


def test_without_the_program_beside_python_it_is_the_module(executed: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "fluxlike-broker").unlink()
    start("--rank", "3")
    assert executed == [[str(tmp_path / "python"), "-m", "fluxlike_broker.main", "--rank", "3"]]


@pytest.mark.parametrize(
    "args",
    [
        ["-s0"],
        ["-s2", "--rank=1"],
        ["--test-hosts=a"],
        ["-S", "novalue"],
        ["--rank=-1"],
        ["--sise=2"],
        ["--store=postgresql://d/j"],
    ],
)
def test_what_contradicts_itself_is_a_usage_error(executed: list[list[str]], args: list[str]) -> None:
    assert run(["start", *args]) == 2
    assert executed == []


def test_versions_are_printed_as_text_and_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == 0
    names = [line.split()[0] for line in capfd.readouterr().out.splitlines()]
    assert names == ["fluxlike", "python", "zmq", "msgpack", "sqlalchemy"]
    assert run(["version", "--json"]) == 0
    assert list(json.loads(capfd.readouterr().out)) == names
