from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxlike_cli.deferred import DeferredModule, defer


@pytest.fixture
def lazily(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for modules of this test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_stand_in_runs_its_module_at_the_first_look_at_a_name(lazily: Path) -> None:
    (lazily / "late_one.py").write_text("import sys\nsys.late_one_ran = True\nvalue = 7\n")
    defer(["late_one"])
    import late_one  # type: ignore[import-not-found]
    import late_one as again

    assert not hasattr(sys, "late_one_ran")
    assert late_one.value == 7
    assert again is late_one
    assert type(late_one) is not DeferredModule
    del sys.late_one_ran  # type: ignore[attr-defined]


def test_a_name_that_the_module_lacks_is_an_attribute_error(lazily: Path) -> None:
    (lazily / "late_two.py").write_text("")
    defer(["late_two"])
    with pytest.raises(AttributeError, match="late_two"):
        _ = sys.modules["late_two"].missing


def test_a_module_that_fails_can_be_tried_again(lazily: Path) -> None:
    (lazily / "late_three.py").write_text("raise ValueError('not today')")
    defer(["late_three"])
    with pytest.raises(ValueError, match="not today"):
        _ = sys.modules["late_three"].value
    assert "late_three" not in sys.modules


def test_modules_that_import_each_other_load(lazily: Path) -> None:
    (lazily / "late_four.py").write_text("import late_five\nvalue = 4\n")
    (lazily / "late_five.py").write_text("import late_four\nkept = late_four\nvalue = 5\n")
    defer(["late_four", "late_five"])
    assert sys.modules["late_four"].value == 4
    assert sys.modules["late_five"].kept.value == 4


def test_a_loaded_module_and_an_unknown_one_are_left_alone() -> None:
    defer(["sys", "no_such_module_here"])
    assert type(sys) is not DeferredModule
    assert "no_such_module_here" not in sys.modules


def test_click_works_in_full_with_the_stand_ins() -> None:
    code = """
from fluxlike_cli.deferred import defer
from fluxlike_cli.main import SELDOM_USED
defer(SELDOM_USED)
import click

@click.command()
@click.option("--id", type=click.UUID)
@click.option("--at", type=click.DateTime())
def command(id, at):
    '''What it
    does.'''
    click.echo(f"{id} {at}")

command.main(["--id", "12345678123456781234567812345678", "--at", "2024-01-31"], standalone_mode=False)
command.main(["--help"], standalone_mode=False)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("12345678-1234-5678-1234-567812345678 2024-01-31 00:00:00")
    assert "What it does." in done.stdout
