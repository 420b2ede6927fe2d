"""Connecting to an instance's unix socket, and what can be wrong with it."""

from __future__ import annotations

# The socket module wraps this one; its enums cost a short command 5 ms and are of no use here.
import _socket
import errno
import os
import struct

from fluxlike.client.uri import HOW_TO_START, socket_path
from fluxlike.errors import Disconnected, FluxlikeError, PermissionDenied, TimedOut

CONNECT_TIMEOUT = 10.0
"""Seconds. A broker accepts at once; one whose queue of connections stays full this long has stopped."""

_NOBODY_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED})
_NOT_OURS = frozenset({errno.EACCES, errno.EPERM})


def connect(uri: str, timeout: float = CONNECT_TIMEOUT) -> _socket.socket:
    """A connected socket whose peer runs as our own user. Raises what `refusal` and `check_owner` do."""
    path = socket_path(uri)
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        # Not settimeout: a non-blocking connect to a full queue fails at once instead of waiting its turn.
        _limit_connect(sock, timeout)
        sock.connect(path)
        _limit_connect(sock, 0)
        check_owner(uri, peer_uid(sock), os.geteuid())
    except OSError as error:
        sock.close()
        raise refusal(uri, error) from error
    except BaseException:
        sock.close()
        raise
    return sock


def _limit_connect(sock: _socket.socket, seconds: float) -> None:
    """0 is no limit."""
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, limit)


def peer_uid(sock: _socket.socket) -> int:
    """Who listens at the other end, as the kernel knows it."""
    credentials = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", credentials)[1]
    return uid


def check_owner(uri: str, owner: int, user: int) -> None:
    """A foreign listener gets nothing from us: what a job inherits holds secrets."""
    if owner != user:
        raise PermissionDenied(f"{uri} belongs to uid {owner}, not to you: an instance serves its owner alone")


def refusal(uri: str, error: OSError) -> FluxlikeError:
    """What a failed connect means to the one who asked for it."""
    if error.errno in _NOBODY_THERE:
        return Disconnected(f"no instance listens at {uri}: {HOW_TO_START}")
    if error.errno in _NOT_OURS:
        return PermissionDenied(f"{uri} belongs to another user: an instance serves its owner alone")
    if error.errno == errno.EAGAIN:
        return TimedOut(f"the instance at {uri} takes no connection: it may be stopped or overloaded")
    return Disconnected(f"cannot connect to {uri}: {error.strerror or error}")
