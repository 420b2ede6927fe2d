"""Start-up time: what a command imports before it does anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("asyncio", "dataclasses", "datetime", "inspect", "json", "msgpack", "socket", "uuid", "yaml", "zmq")

COMMANDS = (
    "attr", "dmesg", "exec_", "job", "job_control", "job_info", "job_wait", "keygen", "overlay", "ping",
    "queue", "resource", "shutdown", "uptime",
)  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_command_module_adds_nothing_heavy_to_click(name: str) -> None:
    script = (
        "import sys, click; before = set(sys.modules);"
        f"import fluxlike_cli.commands.{name};"
        f"print(*[m for m in {HEAVY!r} if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
