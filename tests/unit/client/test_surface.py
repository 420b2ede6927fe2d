"""The two faces cannot drift apart, and neither of them grows heavy."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import fluxlike.client
from fluxlike.client import AsyncClient, Client

ONLY_ASYNC = {"connect"}
"""A constructor cannot await."""

HEAVY = ("asyncio", "dataclasses", "inspect", "uuid", "zmq", "sqlalchemy", "socket", "ssl")


def surface(cls: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in vars(cls).items()
        if not name.startswith("_") and callable(member)
    }


def test_both_faces_have_the_same_methods() -> None:
    assert surface(AsyncClient).keys() == surface(Client).keys() | ONLY_ASYNC


@pytest.mark.parametrize("name", sorted(surface(Client)))
def test_parameters_are_the_same_in_both_faces(name: str) -> None:
    blocking, awaited = surface(Client)[name], surface(AsyncClient)[name]
    assert list(blocking.parameters.values()) == list(awaited.parameters.values())
    returned = str(awaited.return_annotation).replace("AsyncIterator", "Iterator")
    returned = re.sub(r"AsyncGenerator\[(.+), None\]", r"Generator[\1, None, None]", returned)
    assert returned == blocking.return_annotation


@pytest.mark.parametrize("name", sorted(surface(Client)))
def test_promises_are_the_same_in_both_faces(name: str) -> None:
    if name != "fileno":
        assert getattr(Client, name).__doc__ == getattr(AsyncClient, name).__doc__


def test_package_offers_its_names_lazily() -> None:
    assert {name for name in fluxlike.client.__all__ if getattr(fluxlike.client, name, None) is None} == set()
    with pytest.raises(AttributeError, match="has no attribute 'Cleint'"):
        getattr(fluxlike.client, "Cleint")  # noqa: B009  mypy rightly knows no such attribute


@pytest.mark.parametrize("module", ["blocking", "core", "requests", "results", "unix", "uri"])
def test_module_of_the_command_line_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, fluxlike.client.{module}; print(*(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
