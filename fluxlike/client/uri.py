"""Addresses of instances: `local:///path/to/socket`."""

from __future__ import annotations

from fluxlike.errors import ConfigError, InvalidRequest

SCHEME = "local://"

MAX_PATH = 107
"""Bytes of a unix socket's path that the kernel takes."""

HOW_TO_START = "start one with `fluxlike start`, or with `export FLUXLIKE_URI=$(fluxlike start --detach)`"


def local_uri(path: str) -> str:
    """The address of the instance that listens on this socket."""
    return SCHEME + path


def socket_path(uri: str) -> str:
    """Raises InvalidRequest for anything but `local:///path/to/socket`."""
    path = uri.removeprefix(SCHEME)
    if not uri.startswith(SCHEME) or not path.startswith("/"):
        raise InvalidRequest(f"{uri!r} is not an address of the form local:///path/to/socket")
    if "\0" in path or len(path.encode(errors="surrogateescape")) > MAX_PATH:
        raise InvalidRequest(f"{uri!r}: the path of a socket has at most {MAX_PATH} bytes, none of them zero")
    return path


def resolve(uri: str | None) -> str:
    """The address given, else that of the enclosing instance. Raises ConfigError if there is none."""
    if uri is not None:
        socket_path(uri)
        return uri
    from fluxlike.config import environment

    enclosing = environment.uri()
    if enclosing is None:
        raise ConfigError(f"FLUXLIKE_URI is not set, so there is no instance to talk to: {HOW_TO_START}")
    try:
        socket_path(enclosing)
    except InvalidRequest as error:
        raise ConfigError(f"FLUXLIKE_URI: {error}") from error
    return enclosing
