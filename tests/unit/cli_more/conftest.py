"""The whole program, in this process, against a broker that says what a test wants."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from fluxlike.testing.fake_broker import FakeBroker
from fluxlike_cli.main import run


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Fluxlike = Callable[..., Result]


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as fake:
        yield fake


@pytest.fixture
def fluxlike(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fluxlike:
    """`fluxlike("job", "id", "ƒ2", stdin="")` runs that command and gives what it printed."""
    monkeypatch.setenv("FLUXLIKE_URI", broker.uri)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("FLUX_F58_FORCE_ASCII", raising=False)
    time.tzset()

    def invoke(*args: object, stdin: str = "") -> Result:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return invoke
