"""The price of a short command is what it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

TOO_DEAR = {"asyncio", "zmq", "sqlalchemy", "dataclasses", "yaml", "numpy", "networkx", "socket", "subprocess"}

LOADED = """
import sys
from fluxlike_cli.deferred import DeferredModule, defer
from fluxlike_cli.main import SELDOM_USED, run
defer(SELDOM_USED)
code = run(sys.argv[1:])
loaded = [name for name, module in sys.modules.items() if type(module) is not DeferredModule]
print("loaded:", *loaded)
sys.exit(code)
"""


def imported_by(*args: str) -> set[str]:
    """Names of all modules that ran in a process with this command line."""
    done = subprocess.run([sys.executable, "-c", LOADED, *args], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


def test_submit_imports_nothing_that_is_dear() -> None:
    assert not imported_by("submit", "--dry-run", "true") & (TOO_DEAR | {"inspect"})


def test_run_imports_nothing_that_is_dear() -> None:
    assert not imported_by("run", "--dry-run", "true") & (TOO_DEAR | {"inspect"})


@pytest.mark.parametrize(
    "module", ["attach", "waiting", "following", "output.jobs", "commands.jobs", "commands.bulksubmit"]
)
def test_what_follows_a_submit_imports_nothing_that_is_dear(module: str) -> None:
    code = f"import sys, fluxlike_cli.{module}, fluxlike.client.blocking; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # inspect is there, for want of a stand-in: click brings it along.
    assert not set(done.stdout.split()) & TOO_DEAR


def test_help_of_the_program_imports_no_command() -> None:
    commands = {name for name in imported_by("--help") if name.startswith("fluxlike_cli.commands.")}
    assert not commands


def test_a_command_does_not_import_the_others() -> None:
    commands = {name for name in imported_by("version") if name.startswith("fluxlike_cli.commands.")}
    assert commands == {"fluxlike_cli.commands.version"}
