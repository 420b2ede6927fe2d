"""Garbage and strangers at the tree's sockets: no key, the wrong key, and the right key with wrong words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from fluxlike import __version__
from fluxlike.config import curve
from fluxlike.testing.garbage import BODIES, MESSAGES, STREAMS, connected, dealer, message, push, throw
from fluxlike.testing.instance import Instance
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

CONTROL = ("hello", "keepalive", "joined", "left", "goodbye", "torpid", "nosuchthing")
UUID = b"stranger"


def works(flux: Instance) -> None:
    assert flux.health() == {rank: "full" for rank in range(4)}
    job = flux.sh("true", nnodes=4, ntasks=4)
    assert flux.wait(job).result == "completed"


def endpoint(flux: Instance) -> str:
    return f"ipc://{flux.rundir}/0/tree"


def own_keys(flux: Instance) -> tuple[bytes, bytes]:
    return curve.load(str(flux.rundir / "curve.cert"))


def hello(flux: Instance, **fields: Any) -> bytes:
    good = {
        "rank": 3,
        "instance": flux.attr("instance-id"),
        "version": __version__,
        "members": {3: [UUID, "stranger", 0]},
    }
    return message(kind=8, topic="hello", data=msgpack.packb({**good, **fields}))


def uuid_of(flux: Instance, rank: int) -> str:
    return flux.attr("broker.uuid", rank)


def answer(socket: Any, timeout: float = 5.0) -> tuple[str, Any] | None:
    """Topic and body of the next message, if one comes."""
    if not socket.poll(timeout * 1000):
        return None
    fields = msgpack.unpackb(socket.recv(), strict_map_key=False)
    return fields[1], msgpack.unpackb(fields[10], strict_map_key=False)


@pytest.mark.parametrize("name", STREAMS)
def test_garbage_at_the_tree_socket_harms_nobody(flux: Instance, name: str) -> None:
    throw(str(flux.rundir / "0" / "tree"), STREAMS[name])
    works(flux)


def test_half_a_greeting_keeps_nobody_waiting(flux: Instance) -> None:
    with connected(str(flux.rundir / "0" / "tree")) as stream:
        push(stream, STREAMS["half a greeting of zmq"])
        works(flux)


def test_a_peer_without_a_key_never_joins(flux: Instance) -> None:
    before = uuid_of(flux, 3)
    with dealer(endpoint(flux), UUID, None) as socket:
        socket.send(hello(flux))
        assert answer(socket, timeout=1.0) is None
    assert uuid_of(flux, 3) == before
    works(flux)


def test_a_peer_with_keys_of_its_own_never_joins(flux: Instance) -> None:
    before = uuid_of(flux, 3)
    with dealer(endpoint(flux), UUID, zmq.curve_keypair()) as socket:
        socket.send(hello(flux))
        assert answer(socket, timeout=1.0) is None
    assert uuid_of(flux, 3) == before
    works(flux)


def test_a_peer_that_knows_only_the_public_key_is_refused_and_logged(flux: Instance) -> None:
    public, _ = own_keys(flux)
    before = uuid_of(flux, 3)
    with dealer(endpoint(flux), UUID, zmq.curve_keypair(), server=public) as socket:
        socket.send(hello(flux))
        wait_until(lambda: "wrong key" in flux.ok("dmesg"))
        assert answer(socket, timeout=0.2) is None
    assert uuid_of(flux, 3) == before
    works(flux)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"instance": "another"}, "another instance"),
        ({"version": "99.0.0"}, "99.0.0"),
        ({"rank": 4}, "ranks 0 to 3"),
        ({"rank": 0}, "ranks 0 to 3"),
        ({"rank": -1}, "ranks 0 to 3"),
    ],
)
def test_a_broker_that_does_not_belong_here_is_told_why(flux: Instance, fields: dict[str, Any], reason: str) -> None:
    with dealer(endpoint(flux), UUID, own_keys(flux)) as socket:
        socket.send(hello(flux, **fields))
        found = answer(socket)
        while found is not None and found[0] == "who":
            found = answer(socket)
    assert found is not None
    assert found[0] == "refuse"
    assert reason in found[1]["reason"]
    works(flux)


@pytest.mark.parametrize(
    "fields",
    [
        {"rank": "3"},
        {"rank": None},
        {"version": 7},
        {"members": None},
        {"members": {"x": 1}},
        {"members": {3: []}},
        {"members": {77: [UUID, "stranger", 0]}},
        {"members": {3: [5, 5, "x"]}},
    ],
    ids=str,
)
def test_a_hello_with_wrong_fields_admits_nobody(flux: Instance, fields: dict[str, Any]) -> None:
    before = uuid_of(flux, 3)
    with dealer(endpoint(flux), UUID, own_keys(flux)) as socket:
        socket.send(hello(flux, **fields))
        socket.send(message(topic="broker.ping"))
        found = [answer(socket), answer(socket, timeout=0.2)]
    assert "welcome" not in [topic for topic, _ in filter(None, found)]
    assert uuid_of(flux, 3) == before
    works(flux)


def test_malformed_messages_of_a_holder_of_the_key_harm_nobody(flux: Instance) -> None:
    with dealer(endpoint(flux), UUID, own_keys(flux)) as socket:
        for data in MESSAGES.values():
            socket.send(data)
        for topic in CONTROL:
            for body in BODIES.values():
                socket.send(message(kind=8, topic=topic, data=body))
        socket.send_multipart([b"many", b"", b"frames"])
        socket.send(b"x" * (80 << 20))
        socket.send(hello(flux, instance="the last"))
        while (found := answer(socket, timeout=10)) is not None and found[0] != "refuse":
            pass
    works(flux)


def test_a_leaf_takes_garbage_as_its_parent_does(flux: Instance) -> None:
    throw(str(flux.rundir / "3" / "tree"), STREAMS["random bytes"])
    throw(str(flux.rundir / "3" / "local"), STREAMS["random bytes"])
    assert Path(f"/proc/{flux.broker(3)}").exists()
    works(flux)
