"""The only reader of the process's environment variables. Imported by the command line: it must cost nothing.

Each function reads when it is called, never at import: a test or a fork server may have changed them since.
"""

from __future__ import annotations

import os


def _read(name: str) -> str:
    return os.environ.get(name, "")  # noqa: TID251  this is the one place


def uri() -> str | None:
    """Where the enclosing instance listens; None outside of one."""
    return _read("FLUXLIKE_URI") or None


def snapshot() -> dict[str, str]:
    """The environment that a job inherits, without what is not UTF-8: no message could carry that."""
    items = os.environ.items()  # noqa: TID251  this is the one place
    return {name: value for name, value in items if _is_text(name) and _is_text(value)}


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def take(name: str) -> str:
    """A variable that is meant for this process alone: what it starts does not inherit it."""
    return os.environ.pop(name, "")  # noqa: TID251  this is the one place


def tempdir() -> str:
    """TMPDIR if it is a directory, else /tmp."""
    chosen = _read("TMPDIR")
    return chosen if chosen and os.path.isdir(chosen) else "/tmp"


def runtime_dir() -> str:
    """The user's private directory for sockets if the system made one, else that for temporary files."""
    chosen = _read("XDG_RUNTIME_DIR")
    return chosen if chosen and os.path.isdir(chosen) else tempdir()


def config_dir() -> str:
    """Where the user keeps settings of commands."""
    return os.path.join(_read("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "fluxlike")


def jobs_format() -> str:
    """The format in which `fluxlike jobs` lists jobs when none is asked for; empty for the usual."""
    return _read("FLUXLIKE_JOBS_FORMAT_DEFAULT")


def enclosing_job() -> str:
    """The id of the job that this process is part of; empty outside of one."""
    return _read("FLUX_JOB_ID")


def shell() -> str:
    return _read("SHELL") or "/bin/sh"


def search_path() -> str:
    """Where programs are looked for, as PATH has it."""
    return _read("PATH") or os.defpath


def wants_ascii_ids() -> bool:
    """Whether job ids are printed with a plain f, for terminals and tools without Unicode."""
    return bool(_read("FLUX_F58_FORCE_ASCII"))


def wants_no_color() -> bool:
    return bool(_read("NO_COLOR")) or _read("TERM") == "dumb"
