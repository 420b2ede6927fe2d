"""Commands that need no instance: hostlist, idset, R, config, completion."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import PROGRAM, Command


@pytest.mark.parametrize(
    ("args", "out"),
    [
        (["hostlist", "n1", "n2", "n5"], "n[1-2,5]"),
        (["hostlist", "-e", "n[1-3]"], "n1 n2 n3"),
        (["hostlist", "-e", "-d,", "n[1-2]", "n1"], "n1,n2,n1"),
        (["hostlist", "-u", "n[1-2]", "n1"], "n[1-2]"),
        (["hostlist", "-c", "n[1-300]"], "300"),
        (["hostlist", "-x", "n[2-3]", "n[1-4]"], "n[1,4]"),
        (["hostlist", "-o", "intersect", "a[1-9]", "a[5-20]"], "a[5-9]"),
        (["hostlist", "-o", "difference", "a[1-4]", "a2", "a4"], "a[1,3]"),
        (["hostlist", "-o", "xor", "a[1-3]", "a[2-5]"], "a[1,4-5]"),
        (["hostlist", "-o", "union", "a[1-3]", "a[2-5]"], "a[1-5]"),
        (["hostlist", "-n", "-1", "a[1-3]"], "a3"),
        (["hostlist", "-L", "-2", "a[1-3]"], "a[2-3]"),
        (["hostlist", "-s", "-e", "n10", "n9", "m"], "m n9 n10"),
        (["idset", "1", "2", "3", "7"], "1-3,7"),
        (["idset", "-e", "-d,", "0-2"], "0,1,2"),
        (["idset", "-c", "0-99"], "100"),
        (["idset", "-o", "difference", "0-9", "4-5"], "0-3,6-9"),
        (["idset", "-o", "xor", "0-3", "2-5"], "0-1,4-5"),
        (["idset", "-x", "3", "1-4"], "1-2,4"),
        (["idset", "-n", "0", "5-9"], "5"),
        (["idset", "-L", "2", "5-9"], "5-6"),
    ],
)
def test_lists_are_put_together_and_shown(fluxlike: Command, args: list[str], out: str) -> None:
    result = fluxlike(*args)
    assert (result.code, result.out) == (0, f"{out}\n")


def test_words_come_from_standard_input(fluxlike: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 2\n7\n"))
    assert fluxlike("idset").out == "1-2,7\n"


def test_quiet_tells_by_its_exit_status_whether_anything_is_left(fluxlike: Command) -> None:
    assert fluxlike("idset", "-q", "-o", "equal", "0-1", "0,1").code == 0
    assert fluxlike("idset", "-q", "-o", "equal", "0-1", "0,2").code == 1
    assert fluxlike("hostlist", "-q", "-x", "a", "a").code == 1


@pytest.mark.parametrize("args", [["hostlist", "a[1"], ["idset", "3-1"], ["idset", "x"]])
def test_what_cannot_be_read_is_an_error(fluxlike: Command, args: list[str]) -> None:
    result = fluxlike(*args)
    assert (result.code, "invalid" in result.err) == (1, True)


@pytest.fixture
def files(fluxlike: Command, tmp_path: Path) -> tuple[str, str]:
    every, used = tmp_path / "all", tmp_path / "used"
    every.write_text(fluxlike("R", "encode", "-r", "0-3", "-c", "0-7", "-g", "0", "-H", "n[0-3]").out)
    used.write_text(fluxlike("R", "encode", "-r", "1", "-c", "0-3", "-H", "n1").out)
    return str(every), str(used)


def test_resource_sets_are_read(fluxlike: Command, files: tuple[str, str]) -> None:
    every, _ = files
    assert fluxlike("R", "info", every).out == "4 Nodes, 32 Cores, 4 GPUs\n"
    assert fluxlike("R", "decode", "--short", every).out == "rank[0-3]/core[0-7],gpu[0]\n"
    assert fluxlike("R", "decode", "--nodelist", "-i", "2-3", every).out == "n[2-3]\n"
    assert fluxlike("R", "decode", "--ranks", every).out == "0-3\n"
    assert [fluxlike("R", "decode", f"--count={kind}", every).out for kind in ("node", "core", "gpu")] == [
        "4\n",
        "32\n",
        "4\n",
    ]
    assert json.loads(fluxlike("R", "decode", every).out)["version"] == 1


def test_resource_sets_are_combined(fluxlike: Command, files: tuple[str, str], tmp_path: Path) -> None:
    def short(*args: str) -> str:
        (tmp_path / "made").write_text(fluxlike("R", *args).out)
        return fluxlike("R", "decode", "--short", str(tmp_path / "made")).out.strip()

    every, used = files
    assert short("diff", every, used) == "rank[0,2-3]/core[0-7],gpu[0] rank[1]/core[4-7],gpu[0]"
    assert short("intersect", every, used) == "rank[1]/core[0-3]"
    assert short("union", used, used) == "rank[1]/core[0-3]"
    assert short("remap", used) == "rank[0]/core[0-3]"
    assert "both sets" in fluxlike("R", "append", every, used).err


def test_what_is_no_resource_set_is_an_error(fluxlike: Command, tmp_path: Path) -> None:
    file = tmp_path / "file"
    for text, words in (("{", "no JSON"), ("", "no R"), ("{}", "version")):
        file.write_text(text)
        result = fluxlike("R", "info", str(file))
        assert (result.code, words in result.err) == (1, True), result.err
    assert fluxlike("R", "encode", "-r", "0-1", "-H", "a").code == 2


def test_settings_are_told_and_checked(fluxlike: Command, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[tbon]\ntopo = "kary:3"\n')
    bad.write_text('[tbon]\ntopo = "kary:x"\n')
    assert fluxlike("config", "get", f"--conf={good}", "tbon.topo").out == "kary:3\n"
    assert fluxlike("config", "get", f"--conf={good}", "-S", "tbon.topo=kary:4", "tbon.topo").out == "kary:4\n"
    assert json.loads(fluxlike("config", "get", "--json").out)["heartbeat.period"] == "2s"
    assert fluxlike("config", "get").out.splitlines()[0].split()[:2] == ["KEY", "VALUE"]
    assert "Did you mean 'tbon.topo'?" in fluxlike("config", "get", "tbon.tpo").err
    assert fluxlike("config", "check", str(good)).out == f"{good}: good\n"
    assert fluxlike("config", "check", "-q", str(good)).out == ""
    result = fluxlike("config", "check", str(bad))
    assert (result.code, "tbon.topo: must be" in result.err) == (1, True)
    assert fluxlike("config", "check").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(fluxlike: Command, shell: str) -> None:
    result = fluxlike("completion", shell)
    assert (result.code, f"_FLUXLIKE_COMPLETE={shell}_complete" in result.out) == (0, True)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("fluxlike bul", {"bulksubmit"}),
        ("fluxlike job wai", {"wait", "wait-event"}),
        ("fluxlike queue d", {"disable", "drain"}),
        ("fluxlike jobs --stats", {"--stats", "--stats-only"}),
        ("fluxlike completion z", {"zsh"}),
        ("fluxlike --v", {"--version"}),
    ],
)
def test_words_are_completed(words: str, found: set[str]) -> None:
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_FLUXLIKE_COMPLETE": "bash_complete"}
    done = subprocess.run(PROGRAM, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == found, done.stderr


def test_completing_a_command_imports_none_of_them() -> None:
    code = "import sys; from fluxlike_cli.main import run; run([]); print(*sys.modules)"
    variables = {"COMP_WORDS": "fluxlike j", "COMP_CWORD": "1", "_FLUXLIKE_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    assert "plain,jobs" in done.stdout
    assert "fluxlike_cli.commands.jobs" not in done.stdout
