"""What only the blocking face can get wrong."""

from __future__ import annotations

import select
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fluxlike.client.blocking import Client
from fluxlike.client.uri import local_uri
from fluxlike.errors import Disconnected, TimedOut
from fluxlike.protocol.instance import Ping, Pong
from fluxlike.testing.fake_broker import SILENCE, FakeBroker


def pong(request: Ping) -> Pong:
    return Pong(rank=0, userid=0, route=[0], pad=request.pad)


@contextmanager
def stopped_broker() -> Iterator[str]:
    """Takes a connection and then nothing more, as a broker that was stopped does."""
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{directory}/s")
        listener.listen()
        yield local_uri(f"{directory}/s")


def test_descriptor_can_be_polled_for_answers(broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    with Client(broker.uri) as client:
        client.post(Ping(pad=b"x"))
        assert select.select([client], [], [], 10)[0] == [client]
        message = client.receive(timeout=0)
        assert message is not None
        assert message.read(Pong).pad == b"x"


def test_request_that_a_stopped_broker_does_not_take_times_out() -> None:
    with stopped_broker() as uri, Client(uri) as client:
        with pytest.raises(TimedOut, match="did not take a request in time"):
            client.call(Ping(pad=bytes(8_000_000)), Pong, timeout=0.05)
        # Half a frame is out; nothing that follows could be understood.
        with pytest.raises(Disconnected, match="cut off by its timeout"):
            client.call(Ping(), Pong)


class InterruptedOnce:
    """A socket on which Ctrl-C strikes while it waits for the first time."""

    def __init__(self, client: Client) -> None:
        self._inner = client._socket
        self._struck = False
        client._socket = self  # type: ignore[assignment]  # has what the client uses

    def recv(self, size: int) -> bytes:
        if self._struck:
            return self._inner.recv(size)
        self._struck = True
        raise KeyboardInterrupt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_interrupt_while_waiting_leaves_the_connection_usable(broker: FakeBroker) -> None:
    broker.on_topic("my.slow", lambda _: SILENCE)
    broker.on(Ping, pong)
    with Client(broker.uri) as client:
        InterruptedOnce(client)
        with pytest.raises(KeyboardInterrupt):
            client.rpc("my.slow")
        broker.wait_until(lambda: bool(broker.cancelled))
        assert broker.cancelled == {broker.requests[0].matchtag}
        assert client.call(Ping(pad=b"on we go"), Pong).pad == b"on we go"


def test_interrupt_while_sending_ends_the_connection() -> None:
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{directory}/s")
        listener.listen()

        def interrupt() -> None:
            """Once the first byte is here, and long before the last could be: nobody takes the rest."""
            peer, _ = listener.accept()
            with peer:
                peer.recv(1)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                done.wait(10)

        done = threading.Event()
        thread = threading.Thread(target=interrupt)
        thread.start()
        with Client(local_uri(f"{directory}/s")) as client:
            with pytest.raises(KeyboardInterrupt):
                client.call(Ping(pad=bytes(8_000_000)), Pong)
            done.set()
            thread.join()
            with pytest.raises(Disconnected, match="interrupted while it was sent"):
                client.call(Ping(), Pong)


def test_clients_in_threads_do_not_disturb_each_other(broker: FakeBroker) -> None:
    broker.on(Ping, pong)
    wrong: list[int] = []

    def ask(number: int) -> None:
        pad = bytes([number]) * 1000
        with Client(broker.uri) as client:
            if any(client.call(Ping(pad=pad), Pong).pad != pad for _ in range(50)):
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_broker_that_is_gone_is_noticed_when_sending(broker: FakeBroker) -> None:
    with Client(broker.uri) as client:
        broker.wait_until(lambda: broker.connections == 1)
        broker.close()
        with pytest.raises(Disconnected, match=f"the connection to {broker.uri} is lost"):
            client.call(Ping(), Pong)
