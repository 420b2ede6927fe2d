"""Where an instance puts its files, however long the paths that it is given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fluxlike.testing.instance import Site

pytestmark = pytest.mark.system

LONG = "a-path-that-no-socket-can-have-" * 4


def test_a_state_directory_with_a_long_path_works_and_keeps_its_uri(site: Site) -> None:
    flux = site.start(2, statedir=LONG)
    assert flux.wait(flux.sh("true", nnodes=2, ntasks=2)).result == "completed"
    assert len(flux.uri) < 107
    uri = flux.uri
    flux.kill_broker(0)
    flux = site.start(2, statedir=LONG)
    assert flux.uri == uri
    assert flux.cli("shutdown", "--quiet").returncode == 0
    assert site.start(2, statedir=LONG).uri == uri


def test_a_temporary_directory_with_a_long_path_is_passed_over(site: Site) -> None:
    path = site.root / LONG
    path.mkdir()
    site.env["TMPDIR"] = str(path)
    done = site.cli("start", *site.options(2), "--", "sh", "-c", "fluxlike run -N2 -n2 true && fluxlike getattr rundir")
    assert done.returncode == 0, done
    rundir = Path(done.stdout.strip())
    assert len(str(rundir)) < 107
    assert not os.path.exists(rundir.parent)
    assert list(path.iterdir()) == []


def test_a_state_directory_inside_one_that_does_not_exist_is_made(site: Site) -> None:
    flux = site.start(1, statedir="a/b/c")
    assert flux.wait(flux.sh("true")).result == "completed"
    assert not (site.root / "a" / "b" / "c").stat().st_mode & 0o077


def test_a_file_in_the_place_of_the_state_directory_is_named(site: Site) -> None:
    (site.root / "file").touch()
    done = site.cli("start", *site.options(1, statedir="file"), "--detach")
    assert done.returncode == 1
    assert str(site.root / "file") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["instance.json", "curve.cert", "jobs.sqlite"])
def test_a_damaged_state_directory_is_refused_with_the_reason(site: Site, name: str) -> None:
    flux = site.start(1, statedir="state")
    assert flux.wait(flux.sh("true")).result == "completed"
    assert flux.cli("shutdown", "--quiet").returncode == 0
    path = site.root / "state" / name
    path.write_bytes(b"garbage" * 1000)
    done = site.cli("start", *site.options(1, statedir="state"), "--detach")
    assert done.returncode == 1, done
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == b"garbage" * 1000
