"""A broker without an instance behind it: a unix socket, and a table from topics to what a test wants said.

It runs on threads, one for each request, so that a handler may wait for what the test does next while other
requests go on. Blocking clients, asyncio clients and commands in processes of their own can all talk to it.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from fluxlike.client.uri import local_uri
from fluxlike.errors import FluxlikeError, NoSuchService, ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.message import Flag, Kind, Message, decode, encode
from fluxlike.protocol.payload import Payload

P = TypeVar("P", bound=Payload)

Handler = Callable[[Message], object]
"""Gives a body (a payload, a map, None), an iterator of bodies for a stream, or SILENCE. May raise a
FluxlikeError, which is answered, also after part of a stream; or HangUp."""

SILENCE: Final = object()
"""Returned by a handler that never answers."""

PATIENCE = 10.0
"""Seconds that `wait_until` gives a condition: ages for this machine, an end for a test that would hang."""


class HangUp(Exception):
    """Raised by a handler: close the connection instead of answering."""


class FakeBroker:
    """Listens from its creation until `close`. Requests of topics that nobody handles get NoSuchService."""

    def __init__(self, handlers: Mapping[str, Handler] | None = None) -> None:
        self.requests: list[Message] = []
        """All that were received, in order of arrival."""
        self.cancelled: set[int] = set()
        """Match tags of requests whose asker has gone."""
        self._handlers = dict(handlers or {})
        self._directory = tempfile.mkdtemp(prefix="fluxlike-fake-")
        self._changed = threading.Condition()
        self._connections: list[_Connection] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = f"{self._directory}/local-0"
        self._listener.bind(path)
        self._listener.listen()
        self.uri = local_uri(path)
        self._accepting = threading.Thread(target=self._accept, name="fake broker", daemon=True)
        self._accepting.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the script -----------------------------------------------------------------------------------------

    def on(self, request: type[P], handler: Callable[[P], object]) -> None:
        """Answer this kind of request with what `handler` makes of it; see Handler."""
        self._handlers[request.topic] = lambda message: handler(message.read(request))

    def on_topic(self, topic: str, handler: Handler) -> None:
        """As `on`, for topics without a class and handlers that look at the whole message."""
        self._handlers[topic] = handler

    def seen(self, request: type[P]) -> list[P]:
        """The requests of this kind so far."""
        with self._changed:
            return [message.read(request) for message in self.requests if message.topic == request.topic]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Looked at whenever a request, a cancellation or a connection comes or goes, for PATIENCE."""
        with self._changed:
            if not self._changed.wait_for(condition, PATIENCE):
                raise AssertionError(f"it did not happen; requests were {self.requests}")

    @property
    def connections(self) -> int:
        """How many are open now."""
        return sum(not connection.gone for connection in self._connections)

    def send_bytes(self, data: bytes) -> None:
        """To every client as it stands: half a frame, or no frame at all."""
        for connection in list(self._connections):
            connection.send_bytes(data)

    def hang_up(self) -> None:
        """Close all connections; new ones are still accepted."""
        for connection in list(self._connections):
            connection.hang_up()

    def close(self) -> None:
        """Harmless when repeated."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(PATIENCE)
        self._listener.close()
        for connection in self._connections:
            connection.hang_up()
            connection.thread.join(PATIENCE)
        shutil.rmtree(self._directory, ignore_errors=True)

    # -- what the threads do --------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                self._connections.append(_Connection(self, sock))
                self._changed.notify_all()

    def _received(self, message: Message) -> None:
        with self._changed:
            if message.flags & Flag.CANCEL:
                self.cancelled.add(message.matchtag)
            else:
                self.requests.append(message)
            self._changed.notify_all()

    def _disconnected(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _answers(self, request: Message) -> Iterator[Message]:
        """What to send for this request."""
        try:
            yield from self._scripted(request)
        except FluxlikeError as error:
            yield request.response(error=error)
        except HangUp:
            raise
        except Exception as error:  # noqa: BLE001  a mistake in the script must not leave its test hanging
            yield request.response(error=FluxlikeError(f"the fake broker's script failed: {error!r}"))

    def _scripted(self, request: Message) -> Iterator[Message]:
        """An asker that cancels gets no more of its stream."""
        handler = self._handlers.get(request.topic)
        if handler is None:
            raise NoSuchService(f"this fake broker has no answer to {request.topic}")
        answer = handler(request)
        if answer is SILENCE:
            return
        if not isinstance(answer, Iterator):
            yield request.response(_plain(answer))
            return
        for body in answer:
            if request.matchtag in self.cancelled:
                return
            yield request.response(_plain(body), flags=Flag.STREAM)
        yield request.response(flags=Flag.END)


class _Connection:
    def __init__(self, broker: FakeBroker, sock: socket.socket) -> None:
        self._broker = broker
        self._socket = sock
        self._sending = threading.Lock()
        self.gone = False
        self.thread = threading.Thread(target=self._serve, name="fake broker connection", daemon=True)
        self.thread.start()

    def send_bytes(self, data: bytes) -> None:
        with self._sending, suppress(OSError):
            self._socket.sendall(data)

    def hang_up(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        reader = FrameReader()
        with self._socket, suppress(OSError, ProtocolError):
            while data := self._socket.recv(65536):
                for raw in reader.feed(data):
                    self._take(decode(raw))
        self.gone = True
        self._broker._disconnected()

    def _take(self, message: Message) -> None:
        if message.kind != Kind.REQUEST:
            raise ProtocolError("clients send requests only")
        self._broker._received(message)
        if not message.flags & Flag.CANCEL:
            threading.Thread(target=self._answer, args=(message,), name=message.topic, daemon=True).start()

    def _answer(self, request: Message) -> None:
        try:
            for answer in self._broker._answers(request):
                self.send_bytes(frame(encode(answer)))
        except HangUp:
            self.hang_up()


def _plain(body: object) -> object:
    """As a map already: the packer is shared by all threads, and must not be left while it packs."""
    return body.to_wire() if isinstance(body, Payload) else body
