"""Every example runs in an instance of its own and says what it is there to show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fluxlike.testing.instance import Run, Site

pytestmark = pytest.mark.system

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(site: Site, *program: str) -> str:
    """Standard output of a program that is all there is in an instance of four brokers."""
    done: Run = site.cli("start", *site.options(4), "--", *program, timeout=90)
    assert done.returncode == 0, done
    assert "ERROR" not in done.stderr
    return done.stdout


def test_demo_shows_an_instance(site: Site) -> None:
    output = run(site, "sh", str(EXAMPLES / "demo.sh"))
    for text in ("full", "free ", "3: 3\n", "member 8 of the ensemble", "depends:afterok=", "can never be satisfied"):
        assert text in output
    assert "exit code 1\n" in output
    assert "needs 400 nodes, 4 in all" in output
    assert output.rindex("== All jobs") < output.rindex("0 running, 9 completed, 2 failed, 1 canceled")


def test_ensemble_gathers_what_its_members_computed(site: Site) -> None:
    first, _, *rows = run(site, "sh", str(EXAMPLES / "ensemble.sh")).splitlines()
    assert first == "108"
    names = ["prepare", *(f"member-{number}" for number in range(1, 9)), "gather"]
    assert sorted(row.split()[1] for row in rows) == sorted(names)
    assert {row.split()[2] for row in rows} == {"COMPLETED"}


def test_jobspec_in_a_file_runs(site: Site) -> None:
    script = f"fluxlike job attach $(fluxlike job submit {EXAMPLES / 'jobspec.yaml'})"
    lines = run(site, "sh", "-c", script).splitlines()
    assert sorted(lines) == [f"task {rank} of 4 in from-a-file" for rank in range(4)]


@pytest.mark.parametrize("name", ["sdk_blocking.py", "sdk_asyncio.py"])
def test_python_example_runs(site: Site, name: str) -> None:
    output = run(site, sys.executable, str(EXAMPLES / name))
    assert "completed, exit code 0" in output
    assert "refused: could not run" in output


def test_futures_example_runs(site: Site) -> None:
    lines = run(site, sys.executable, str(EXAMPLES / "sdk_futures.py")).splitlines()
    assert lines[0].startswith("20! is 2432902008176640000, computed by job ")
    assert lines[1].startswith("primes: 1000000007 1000000009 ")
    assert lines[2] == "ValueError: math domain error"
    results = ["exit 0: completed, exit code 0", "exit 1: failed, exit code 1", "exit 2: failed, exit code 2"]
    assert sorted(lines[3:6]) == results
    assert lines[6] == "cancelled: True True"
    assert lines[7].startswith("refused: could not run")


def test_the_five_commands_of_the_readme_run(site: Site) -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    (script,) = (block.split("```")[0] for block in readme.split("```sh\n") if "--detach" in block.split("```")[0])
    done = subprocess.run(
        ["sh", "-e", "-c", script], env=site.env, cwd=site.root, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done
    assert sum("member" in line for line in done.stdout.splitlines()) == 100


def test_no_example_is_forgotten() -> None:
    tested = {
        "demo.sh",
        "ensemble.sh",
        "jobspec.yaml",
        "sdk_blocking.py",
        "sdk_asyncio.py",
        "sdk_futures.py",
        "README.md",
    }
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == tested
