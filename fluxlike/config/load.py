"""From files and `-S` options to Settings. A key that is not known is refused, never passed over."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fluxlike.config.bootstrap import parse_hosts
from fluxlike.config.registry import KEYS, TABLES
from fluxlike.config.settings import Settings
from fluxlike.duration import format_duration
from fluxlike.errors import ConfigError

_HOSTS = "bootstrap.hosts"


def load(files: Sequence[str], overrides: Sequence[str]) -> Settings:
    """Defaults, then the files in order, then the KEY=VALUE texts in order; the later one wins.

    A directory stands for its *.toml in order of name.
    Raises ConfigError that names the file or option, the key and what it should be.
    """
    settings = Settings()
    for path in _files(files):
        settings = _apply_document(settings, _read(path), path)
    for option in overrides:
        settings = _apply_option(settings, option)
    _check(settings)
    return settings


def _files(paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for name in sorted(os.listdir(path)):
            if name.endswith(".toml"):
                yield os.path.join(path, name)


def _read(path: str) -> dict[str, Any]:
    import tomllib  # only who has a file pays for it

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None


def _apply_document(settings: Settings, document: dict[str, Any], path: str) -> Settings:
    for table, content in document.items():
        if table not in TABLES:
            raise ConfigError(f"{path}: unknown table [{table}]{_nearest(table, TABLES)}")
        if not isinstance(content, dict):
            raise ConfigError(f"{path}: {table}: must be a table, not {content!r}")
        for name, value in content.items():
            settings = _apply(settings, f"{table}.{name}", value, path)
    return settings


def _apply_option(settings: Settings, option: str) -> Settings:
    name, equals, value = option.partition("=")
    if not equals:
        raise ConfigError(f"-S {option}: must be KEY=VALUE")
    name = name.strip()
    shown = name if name in KEYS and KEYS[name].secret else option
    return _apply(settings, name, value.strip(), f"-S {shown}")


def _apply(settings: Settings, name: str, value: object, source: str) -> Settings:
    if name == _HOSTS:
        return _apply_hosts(settings, value, source)
    key = KEYS.get(name)
    if key is None:
        raise ConfigError(f"{source}: unknown key {name!r}{_nearest(name, [*KEYS, _HOSTS])}")
    try:
        parsed = key.parse(value)
    except ValueError as error:
        found = "" if key.secret else f", not {value!r}"
        raise ConfigError(f"{source}: {name}: must be {error}{found}") from None
    section = replace(getattr(settings, key.section), **{key.field: parsed})
    return replace(settings, **{key.section: section})


def _apply_hosts(settings: Settings, value: object, source: str) -> Settings:
    try:
        bootstrap = replace(settings.bootstrap, hosts=parse_hosts(value))
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    return replace(settings, bootstrap=bootstrap)


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib  # only a mistake pays for it

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(known))}"


def _check(settings: Settings) -> None:
    """What no key can know alone."""
    overlay = settings.overlay
    for name, longer, other, shorter in (
        ("tbon.torpid", overlay.torpid, "heartbeat.period", overlay.heartbeat),
        ("tbon.lost", overlay.lost, "tbon.torpid", overlay.torpid),
    ):
        if longer <= shorter:
            lengths = f"{format_duration(longer)} is not more than {format_duration(shorter)}"
            raise ConfigError(f"{name}: must be longer than {other}; {lengths}")
