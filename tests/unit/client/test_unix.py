from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

import pytest

from fluxlike.client.unix import check_owner, connect, peer_uid, refusal
from fluxlike.errors import Disconnected, FluxlikeError, PermissionDenied, TimedOut
from fluxlike.testing.fake_broker import FakeBroker

if TYPE_CHECKING:
    from tests.unit.client.conftest import FullListener

URI = "local:///some/where"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED])
def test_no_listener_is_told_with_the_way_to_start_one(number: int) -> None:
    error = refusal(URI, OSError(number, os.strerror(number)))
    assert type(error) is Disconnected
    assert str(error).startswith(f"no instance listens at {URI}: start one with `fluxlike start`")


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (errno.EACCES, PermissionDenied, "belongs to another user"),
        (errno.EPERM, PermissionDenied, "belongs to another user"),
        (errno.EAGAIN, TimedOut, "takes no connection"),
        (errno.EMFILE, Disconnected, "Too many open files"),
    ],
)
def test_other_refusals_name_the_instance_and_the_cause(number: int, kind: type[FluxlikeError], text: str) -> None:
    error = refusal(URI, OSError(number, os.strerror(number)))
    assert type(error) is kind
    assert URI in str(error)
    assert text in str(error)


def test_socket_of_another_user_is_refused() -> None:
    check_owner(URI, 1000, 1000)
    with pytest.raises(PermissionDenied, match=f"{URI} belongs to uid 1000"):
        check_owner(URI, 1000, 1001)


def test_foreign_peer_is_noticed_before_anything_is_sent(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(PermissionDenied, match=f"belongs to uid {os.getuid()}"):
        connect(broker.uri)
    assert broker.requests == []


def test_instance_whose_queue_stays_full_times_out(full_listener: FullListener) -> None:
    with pytest.raises(TimedOut, match="takes no connection"):
        connect(full_listener.uri, timeout=0.05)


def test_connect_waits_its_turn_when_the_queue_is_full(full_listener: FullListener) -> None:
    connected = threading.Event()

    def take_turn() -> None:
        connect(full_listener.uri).close()
        connected.set()

    thread = threading.Thread(target=take_turn)
    thread.start()
    full_listener.accept_all(2)
    thread.join()
    assert connected.is_set()


def test_connected_socket_knows_its_peer_and_has_no_send_limit_left(broker: FakeBroker) -> None:
    sock = connect(broker.uri)
    try:
        assert peer_uid(sock) == os.geteuid()
        assert sock.gettimeout() is None
    finally:
        sock.close()
