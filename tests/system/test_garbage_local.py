"""Garbage at the sockets of clients and executors: it is dropped, and the instance works as before."""

from __future__ import annotations

import os
from contextlib import suppress

import msgpack
import pytest

from fluxlike.client.blocking import Client
from fluxlike.errors import FluxlikeError, InvalidRequest, NoSuchService
from fluxlike.protocol import execution, instance, jobs
from fluxlike.protocol.framing import frame
from fluxlike.testing.garbage import BODIES, MESSAGES, STREAMS, connected, hung_up, message, push, throw
from fluxlike.testing.instance import Instance
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

TOPICS = sorted(
    {
        kind.topic
        for module in (execution, instance, jobs)
        for kind in vars(module).values()
        if getattr(kind, "topic", "")
    }
    - {instance.Shutdown.topic}
)


def works(flux: Instance) -> None:
    """Every rank still runs jobs, and no broker was replaced."""
    job = flux.sh("echo $FLUX_TASK_RANK", nnodes=4, ntasks=4)
    assert flux.wait(job).result == "completed"
    assert sorted(flux.output(job).split()) == [b"0", b"1", b"2", b"3"]


def client_socket(flux: Instance, rank: int = 0) -> str:
    return str(flux.rundir / str(rank) / "local")


def executor_socket(flux: Instance, rank: int = 1) -> str:
    return str(flux.rundir / str(rank) / "executor.sock")


@pytest.mark.parametrize("name", STREAMS)
def test_garbage_at_the_client_socket_harms_nobody(flux: Instance, name: str) -> None:
    broker = flux.broker()
    throw(client_socket(flux), STREAMS[name])
    works(flux)
    assert flux.broker() == broker


@pytest.mark.parametrize("name", MESSAGES)
def test_a_malformed_message_of_a_client_closes_its_connection_only(flux: Instance, name: str) -> None:
    with Client(flux.uri) as other, connected(client_socket(flux)) as stream:
        push(stream, frame(MESSAGES[name]))
        assert hung_up(stream)
        assert other.rpc("attr.get", {"name": "size"}, timeout=10)["value"] == "4"


def test_half_a_frame_keeps_nobody_waiting(flux: Instance) -> None:
    with connected(client_socket(flux)) as stream:
        push(stream, STREAMS["half a frame"])
        works(flux)


def test_a_client_that_never_reads_keeps_nobody_waiting(flux: Instance) -> None:
    with connected(client_socket(flux)) as stream:
        stream.setblocking(False)
        request = frame(message(topic="attr.list", flags=0))
        with suppress(BlockingIOError):
            while True:
                stream.send(request * 100)
        works(flux)


def test_bodies_of_the_wrong_shape_are_answered_with_errors(flux: Instance) -> None:
    with connected(client_socket(flux)) as stream:
        count = 0
        for topic in TOPICS:
            for body in BODIES.values():
                count += 1
                push(stream, frame(message(topic=topic, data=body, matchtag=count, flags=0)))
        push(stream, frame(message(topic="broker.ping", matchtag=count + 1)))
        answered = _answers(stream, until=count + 1)
    assert not [error for error in answered.values() if error and error[0] == "internal"]
    works(flux)


def _answers(stream: object, until: int) -> dict[int, list[str] | None]:
    found: dict[int, list[str] | None] = {}
    unpacker = b""
    while until not in found:
        data = stream.recv(1 << 20)  # type: ignore[attr-defined]
        assert data, "the broker hung up"
        unpacker += data
        while len(unpacker) >= 4 and len(unpacker) >= 4 + int.from_bytes(unpacker[:4], "big"):
            end = 4 + int.from_bytes(unpacker[:4], "big")
            fields = msgpack.unpackb(unpacker[4:end])
            found[fields[3]] = fields[8]
            unpacker = unpacker[end:]
    return found


def test_unknown_topics_and_ranks_are_refused(flux: Instance) -> None:
    with pytest.raises(NoSuchService):
        flux.client.rpc("nosuch.thing", timeout=10)
    with pytest.raises(NoSuchService):
        flux.client.rpc("job.nosuchthing", timeout=10)
    for rank in (4, 99, 2**31, -7):
        with pytest.raises(FluxlikeError):
            flux.client.rpc("broker.ping", rank=rank, timeout=10)
    with pytest.raises(InvalidRequest):
        flux.client.rpc("job.list", {"states": ["nosuchstate"]}, timeout=10)
    works(flux)


def test_many_connections_that_say_nothing_are_all_let_go(flux: Instance) -> None:
    for _ in range(200):
        throw(client_socket(flux), b"")
    works(flux)


@pytest.mark.parametrize("name", STREAMS)
def test_garbage_at_the_executor_socket_harms_nobody(flux: Instance, name: str) -> None:
    executor = flux.executor(1)
    throw(executor_socket(flux), STREAMS[name])
    works(flux)
    assert flux.executor(1) == executor


@pytest.mark.parametrize("name", MESSAGES)
def test_malformed_messages_at_the_executor_socket_harm_nobody(flux: Instance, name: str) -> None:
    with connected(executor_socket(flux)) as stream:
        push(stream, frame(MESSAGES[name]))
        assert hung_up(stream)
    assert flux.executor(1)


def test_messages_of_the_executor_without_a_hello_are_refused(flux: Instance) -> None:
    job = flux.sh(f"while [ ! -e {flux.site.root}/go ]; do sleep 0.05; done", nnodes=4, ntasks=4)
    flux.until(job, "start")
    for words in (["exit"], ["kill", [[job, 0, 9]]], ["start", {"specs": {}, "jobs": []}], ["hello", 5], ["hello"]):
        with connected(executor_socket(flux)) as stream:
            push(stream, frame(msgpack.packb(words)))
            assert hung_up(stream)
    assert flux.client.job(job).state == "run"
    (flux.site.root / "go").touch()
    assert flux.wait(job).result == "completed"


def test_a_broker_takes_its_executor_back_from_an_impostor(flux: Instance) -> None:
    """Of the same user, who may do what he likes with his own processes; the jobs go on all the same."""
    job = flux.sh(f"while [ ! -e {flux.site.root}/go2 ]; do sleep 0.05; done; echo done", nnodes=4, ntasks=4)
    flux.until(job, "start")
    about = {"instance": "x", "rank": 1, "host": "x", "uri": "x", "tmpdir": "/nonexistent", "kill_timeout": 1.0}
    hello = {**about, "orphan_timeout": 60.0, "userid": os.getuid(), "protocol": 1}
    with connected(executor_socket(flux)) as stream:
        push(stream, frame(msgpack.packb(["hello", hello])))
        stream.recv(4)
        push(stream, STREAMS["random bytes"])
        hung_up(stream)
    (flux.site.root / "go2").touch()
    assert flux.wait(job).result == "completed"
    assert flux.output(job) == b"done\n" * 4
    wait_until(lambda: all(node["up"] for node in flux.nodes()))
    works(flux)
