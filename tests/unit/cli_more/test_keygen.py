"""The CURVE certificate: made by `keygen`, read by brokers, refused when others can read it."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from fluxlike.config import curve
from fluxlike.errors import ConfigError
from fluxlike_cli.commands.keygen import keygen

PUBLIC = b"Z3Iz/deI#uph5Q3/weaETxLG?Hf]C)>)W>ngrgsW"
SECRET = b"nP.jPk)fmI1.XJ@>^}cT*CQB45C8ogw&)^@*gL>a"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "curve.cert"


def write(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_keys_written_by_keygen_are_a_pair_that_loads_again(path: Path) -> None:
    import zmq

    result = CliRunner().invoke(keygen, [str(path)])
    assert (result.exit_code, result.output) == (0, "")
    public, secret = curve.load(str(path))
    assert zmq.curve_public(secret) == public
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(tomllib.loads(path.read_text())["metadata"]) >= {"created", "host", "userid"}


def test_two_runs_of_keygen_give_different_keys(tmp_path: Path) -> None:
    for name in ("a", "b"):
        CliRunner().invoke(keygen, [str(tmp_path / name)])
    assert curve.load(str(tmp_path / "a")) != curve.load(str(tmp_path / "b"))


def test_existing_file_is_not_overwritten(path: Path) -> None:
    curve.save(str(path), PUBLIC, SECRET)
    with pytest.raises(ConfigError, match="not overwritten"):
        curve.save(str(path), SECRET, PUBLIC)
    assert curve.load(str(path)) == (PUBLIC, SECRET)


def test_existing_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="not overwritten"):
        curve.save(str(path), PUBLIC, SECRET)
    assert not (tmp_path / "elsewhere").exists()


def test_certificate_is_private_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        curve.save(str(path), PUBLIC, SECRET)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory"):
        curve.save(str(tmp_path / "no" / "curve.cert"), PUBLIC, SECRET)


def test_what_is_no_key_is_not_written(path: Path) -> None:
    with pytest.raises(ConfigError, match="secret-key must be 40 characters"):
        curve.save(str(path), PUBLIC, b"short")
    assert not path.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o700 | 0o001])
def test_file_that_others_can_reach_is_refused(path: Path, mode: int) -> None:
    curve.save(str(path), PUBLIC, SECRET)
    path.chmod(mode)
    with pytest.raises(ConfigError, match="open to others"):
        curve.load(str(path))


def test_file_of_another_owner_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve.save(str(path), PUBLIC, SECRET)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(ConfigError, match=f"belongs to uid {other - 1}, not to uid {other}"):
        curve.load(str(path))


def test_missing_file_tells_how_to_make_one(path: Path) -> None:
    with pytest.raises(ConfigError, match="fluxlike keygen"):
        curve.load(str(path))


def test_fifo_is_refused_without_waiting_for_a_writer(path: Path) -> None:
    os.mkfifo(path, 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        curve.load(str(path))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", r"no \[curve\] table"),
        ("curve = 3", r"no \[curve\] table"),
        ("[curve", "not TOML"),
        (f"[curve]\nsecret-key = '{SECRET.decode()}'", "curve.public-key is missing"),
        (f"[curve]\npublic-key = '{PUBLIC.decode()}'", "curve.secret-key is missing"),
        (f"[curve]\npublic-key = '{PUBLIC.decode()}'\nsecret-key = 7", "curve.secret-key must be 40"),
        (f"[curve]\npublic-key = '{PUBLIC.decode()[1:]}'\nsecret-key = ''", "curve.public-key must be 40"),
        (f"[curve]\npublic-key = '{'~' * 40}'\nsecret-key = ''", "curve.public-key must be 40"),
    ],
)
def test_bad_certificate_is_refused_with_the_reason_and_without_its_keys(path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        curve.load(write(path, text))
    assert SECRET.decode() not in str(caught.value)


def test_binary_file_is_refused(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="not TOML"):
        curve.load(str(path))
