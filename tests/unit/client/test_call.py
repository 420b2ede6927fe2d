"""Python calls that run in a process of their own."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fluxlike.client import call
from fluxlike.errors import InvalidRequest


def start(packed: bytes, variables: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """A call that comes in the environment."""
    env = {**os.environ, call.VALUE: call.as_text(packed), **variables}
    return subprocess.run([sys.executable, "-m", call.__name__], env=env, capture_output=True, timeout=30, check=False)


def run(packed: bytes, **variables: str) -> tuple[subprocess.CompletedProcess[bytes], tuple[bool, Any, str] | None]:
    """The process, and the outcome that it wrote."""
    done = start(packed, variables)
    return done, call.read_outcome(done.stdout)


def test_call_gives_its_result() -> None:
    done, outcome = run(call.pack_call(math.pow, (2, 10), {}))
    assert (done.returncode, outcome) == (0, (True, 1024.0, ""))


def test_large_call_comes_by_standard_input() -> None:
    packed = call.pack_call(len, (b"x" * 5_000_000,), {})
    done = subprocess.run(
        [sys.executable, "-m", call.__name__], input=packed, capture_output=True, timeout=30, check=True
    )
    assert call.read_outcome(done.stdout) == (True, 5_000_000, "")


def test_what_a_call_prints_does_not_disturb_its_result() -> None:
    done, outcome = run(call.pack_call(print, ("hello",), {}))
    assert outcome == (True, None, "")
    assert done.stderr == b"hello\n"


def test_exception_comes_back_with_where_it_was_raised() -> None:
    done, outcome = run(call.pack_call(math.sqrt, (-1,), {}))
    assert outcome is not None
    returned, error, text = outcome
    assert (done.returncode, returned) == (1, False)
    assert isinstance(error, ValueError)
    assert text.rstrip().endswith("ValueError: math domain error")
    assert "call.py" not in text, "the way to the call is not the user's"


def test_exit_in_a_call_is_its_exception() -> None:
    _, outcome = run(call.pack_call(sys.exit, (3,), {}))
    assert outcome is not None
    assert isinstance(outcome[1], SystemExit)


def test_call_does_not_hand_its_variables_on() -> None:
    _, outcome = run(call.pack_call(os.getenv, (call.VALUE,), {}), **{call.PATH: "/nowhere", call.MAIN: ""})
    assert outcome == (True, None, "")


MODULE = """
class Odd(Exception):
    def __init__(self, one, two):
        super().__init__("odd")

def odd():
    raise Odd(1, 2)

def unsendable():
    return lambda: 1
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "a_module_of_the_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import a_module_of_the_test  # type: ignore[import-not-found]

    return a_module_of_the_test


def test_modules_are_found_where_the_submitter_finds_them(module: Any) -> None:
    _, outcome = run(call.pack_call(module.odd, (), {}), **call.variables())
    assert outcome is not None
    assert isinstance(outcome[1], call.CallError), "this one cannot be made again from what was packed"
    assert str(outcome[1]) == "Odd: odd"


def test_result_that_cannot_be_sent_is_an_exception(module: Any) -> None:
    _, outcome = run(call.pack_call(module.unsendable, (), {}), **call.variables())
    assert outcome is not None
    assert not outcome[0]


def test_call_that_cannot_be_sent_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidRequest, match="install cloudpickle, or put the function into a module"):
        call.pack_call(lambda: 1, (), {})


MAIN = """
import sys
from fluxlike.client import call

class Point:
    def __init__(self, x):
        self.x = x

def double(point):
    return Point(2 * point.x)

if __name__ == "__main__":
    sys.stdout.buffer.write(call.pack_call(double, (Point(4),), {}))
"""


def test_functions_and_classes_of_the_main_program_are_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MAIN)
    packed = subprocess.run([sys.executable, str(program)], capture_output=True, timeout=30, check=True).stdout
    done = start(packed, {call.MAIN: str(program)})
    assert done.returncode == 0, done.stderr
    # As the submitter would read it: its main program answers to both names.
    reader = f"import sys, runpy; from fluxlike.client import call; {READER}"
    env = {**os.environ, "PROGRAM": str(program)}
    read = subprocess.run([sys.executable, "-c", reader], input=done.stdout, env=env, capture_output=True, check=False)
    assert read.stdout == b"8\n", read.stderr


READER = (
    "vars(sys.modules['__main__']).update(runpy.run_path(__import__('os').environ['PROGRAM'], run_name='x')); "
    "print(call.read_outcome(sys.stdin.buffer.read())[1].x)"
)


def test_function_of_a_program_that_is_no_file_is_refused() -> None:
    program = "from fluxlike.client import call\ndef f(): pass\ncall.pack_call(f, (), {})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert "a main program that is not a file; install cloudpickle" in done.stderr


def test_values_have_no_sign_that_jobspecs_give_a_meaning_to() -> None:
    text = call.as_text(pickle.dumps({"{cc}": "{{id}}"}))
    assert not set(text) & set("{}\n")
