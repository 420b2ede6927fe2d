"""Formats for `fluxlike jobs` that users keep in a file of their own."""

from __future__ import annotations

from fluxlike.config.environment import config_dir
from fluxlike.errors import ConfigError


def path() -> str:
    return f"{config_dir()}/jobs.toml"


def user_formats() -> dict[str, tuple[str, str]]:
    """name -> (what it is for, description). None without a file. ConfigError names what is wrong in it.

    [formats.mine]
    description = "What I look at"
    format = "{id.f58:>12} {name:<20.20+} {status}"
    """
    import tomllib

    try:
        with open(path(), "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path()}: {error}") from None
    formats = document.get("formats", {})
    if not isinstance(formats, dict):
        raise ConfigError(f"{path()}: formats must be a table, such as [formats.mine]")
    return {name: _entry(name, value) for name, value in formats.items()}


def _entry(name: str, value: object) -> tuple[str, str]:
    if isinstance(value, str):
        return "", value
    if isinstance(value, dict) and isinstance(value.get("format"), str):
        return str(value.get("description", "")), value["format"]
    raise ConfigError(f'{path()}: formats.{name} needs a text `format = "{{id}} {{name}}"`')
