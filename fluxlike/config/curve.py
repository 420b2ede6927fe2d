"""The CURVE certificate of an instance: one file with both keys, readable by its owner alone.

Every broker of an instance reads the same file (docs/rfc/001); the keys are in Z85, 40 characters each.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from fluxlike.errors import ConfigError

KEY_LENGTH = 40
Z85 = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#")
MAX_SIZE = 64 * 1024
"""Bytes. A certificate has a few hundred; anything beyond this is some other file."""


def load(path: str) -> tuple[bytes, bytes]:
    """(public key, secret key) as ZeroMQ takes them. Raises ConfigError with the reason and what to do."""
    data = _read_private(path)
    curve = _curve_table(path, data)
    return _key(path, curve, "public-key"), _key(path, curve, "secret-key")


def save(path: str, public: bytes, secret: bytes, metadata: dict[str, str] | None = None) -> None:
    """Write a new certificate with mode 0600. An existing file is never replaced: brokers may need it."""
    for name, key in (("public-key", public), ("secret-key", secret)):
        if not _is_key(key):
            raise ConfigError(f"{path}: {name} must be {KEY_LENGTH} characters of Z85")
    text = _text(public.decode("ascii"), secret.decode("ascii"), metadata or {})
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ConfigError(f"{path}: exists and is not overwritten; remove it or choose another name") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(file, "w", encoding="ascii") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        os.unlink(path)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error


def _text(public: str, secret: str, metadata: dict[str, str]) -> str:
    # Literal strings: Z85 knows neither quote nor backslash, and metadata is asked not to.
    lines = ["# The keys of a fluxlike instance. Whoever can read this file can join it.", "[metadata]"]
    lines += [f"{name} = '{_literal(value)}'" for name, value in metadata.items()]
    lines += ["", "[curve]", f"public-key = '{public}'", f"secret-key = '{secret}'", ""]
    return "\n".join(lines)


def _literal(value: str) -> str:
    return "".join(c for c in value if c.isascii() and c.isprintable() and c != "'")


def _read_private(path: str) -> bytes:
    try:
        # Checked on the open file, not on the path: it cannot be exchanged in between.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; `fluxlike keygen {path}` makes one") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        _check_private(path, os.fstat(file))
        return os.read(file, MAX_SIZE)
    finally:
        os.close(file)


def _check_private(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{path}: is not a regular file")
    if status.st_uid != os.geteuid():
        raise ConfigError(f"{path}: belongs to uid {status.st_uid}, not to uid {os.geteuid()}; make your own copy")
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise ConfigError(f"{path}: is open to others (mode {mode:04o}); `chmod 600 {path}` closes it")


def _curve_table(path: str, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # tomllib quotes the offending text only by position, so that no key gets into a log.
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    curve = document.get("curve")
    if not isinstance(curve, dict):
        raise ConfigError(f"{path}: has no [curve] table")
    return curve


def _key(path: str, curve: dict[str, Any], name: str) -> bytes:
    value = curve.get(name)
    if value is None:
        raise ConfigError(f"{path}: curve.{name} is missing")
    key = value.encode("utf-8") if isinstance(value, str) else b""
    if not _is_key(key):
        raise ConfigError(f"{path}: curve.{name} must be {KEY_LENGTH} characters of Z85")
    return key


def _is_key(key: bytes) -> bool:
    return len(key) == KEY_LENGTH and Z85.issuperset(key)
