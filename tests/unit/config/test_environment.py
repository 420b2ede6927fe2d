from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fluxlike.config import environment


def test_there_is_no_uri_outside_of_an_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLUXLIKE_URI", raising=False)
    assert environment.uri() is None
    monkeypatch.setenv("FLUXLIKE_URI", "")
    assert environment.uri() is None


def test_the_uri_is_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXLIKE_URI", "local:///run/x/local")
    assert environment.uri() == "local:///run/x/local"


def test_a_snapshot_does_not_follow_later_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLOUR", "grün")
    taken = environment.snapshot()
    monkeypatch.setenv("COLOUR", "red")
    assert taken["COLOUR"] == "grün"


def test_a_snapshot_leaves_out_what_no_message_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKEN", os.fsdecode(b"\xff\xfe"))
    monkeypatch.setenv("WHOLE", "yes")
    taken = environment.snapshot()
    assert "BROKEN" not in taken
    assert taken["WHOLE"] == "yes"


def test_temporary_files_go_where_the_user_says_if_that_is_a_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert environment.tempdir() == str(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    assert environment.tempdir() == "/tmp"
    monkeypatch.delenv("TMPDIR")
    assert environment.tempdir() == "/tmp"


def test_sockets_go_to_the_runtime_directory_or_among_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert environment.runtime_dir() == str(tmp_path)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.delenv("TMPDIR", raising=False)
    assert environment.runtime_dir() == "/tmp"


def test_there_is_always_a_shell_and_a_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    assert environment.shell() == "/bin/zsh"
    monkeypatch.delenv("SHELL")
    monkeypatch.delenv("PATH")
    assert environment.shell() == "/bin/sh"
    assert "/bin" in environment.search_path()


def test_output_wishes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLUX_F58_FORCE_ASCII", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert not environment.wants_ascii_ids()
    assert not environment.wants_no_color()
    monkeypatch.setenv("FLUX_F58_FORCE_ASCII", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert environment.wants_ascii_ids()
    assert environment.wants_no_color()


def test_the_command_line_pays_for_nothing_but_os() -> None:
    code = (
        "import sys; before = set(sys.modules); import fluxlike.config.environment; "
        "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('fluxlike')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) <= {"__future__"}
