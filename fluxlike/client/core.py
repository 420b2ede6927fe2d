"""What a client knows about its open requests, without a socket: bytes in, answers out (docs/rfc/001)."""

from __future__ import annotations

from fluxlike.errors import InvalidRequest, ProtocolError
from fluxlike.protocol.framing import FrameReader, frame
from fluxlike.protocol.message import ANY, MAX_FRAME, Flag, Kind, Message, decode, encode, encode_body
from fluxlike.protocol.payload import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    P = TypeVar("P", bound=Payload)

# Plain integers: the operators of Flag are Python code, and every message passes here.
_STREAM = int(Flag.STREAM)
_UPSTREAM = int(Flag.UPSTREAM)
_CANCEL = int(Flag.CANCEL)


class ClientCore:
    """Numbers requests and sorts answers. Tags are never used twice, so that a late answer finds nobody."""

    __slots__ = ("_last_tag", "_limit", "_open", "_reader")

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._reader = FrameReader(limit)
        self._last_tag = 0
        self._open: dict[int, tuple[str, bool]] = {}

    def request(
        self,
        payload: Payload | str,
        body: object = None,
        *,
        rank: int = ANY,
        stream: bool = False,
        upstream: bool = False,
    ) -> tuple[int, bytes]:
        """The tag its answers will carry, and the bytes to send. `payload` may be a bare topic with a `body`.

        Raises InvalidRequest for what no message can carry; the tag is then not open."""
        if isinstance(payload, Payload):
            topic, body = payload.topic, payload.to_wire()
        else:
            topic = payload
        self._last_tag += 1
        flags = (_STREAM if stream else 0) | (_UPSTREAM if upstream else 0)
        tag = self._last_tag
        # Packed from plain maps and not by the message: the packer is shared between threads, which is safe
        # only while it need not call back into Python for a payload's fields.
        packed = pack(topic, body)
        data = encode(Message(Kind.REQUEST, topic, nodeid=rank, matchtag=tag, flags=flags, data=packed))
        if len(data) > self._limit:
            raise InvalidRequest(f"{topic}: {len(data)} bytes are over the limit of {self._limit}")
        self._open[tag] = (topic, stream)
        return tag, frame(data)

    def feed(self, data: bytes) -> list[Message]:
        """Answers to open requests that these bytes complete, in order of arrival; errors are answers too.

        The last answer closes its tag; answers to closed tags are dropped. Raises ProtocolError if the bytes
        are no messages, or the broker's complaint about this connection: either way it is of no more use."""
        answers = []
        for raw in self._reader.feed(data):
            message = decode(raw)
            if message.kind != Kind.RESPONSE:
                raise ProtocolError(f"the broker sent {message!r} where only answers are expected")
            if message.matchtag == 0 and (complaint := message.failure()) is not None:
                raise complaint
            asked = self._open.get(message.matchtag)
            if asked is None:
                continue
            if is_last(message) or not asked[1]:
                del self._open[message.matchtag]
            answers.append(message)
        return answers

    def is_open(self, tag: int) -> bool:
        """Whether a further answer may come."""
        return tag in self._open

    def topic(self, tag: int) -> str:
        """What was asked under this open tag."""
        return self._open[tag][0]

    def forget(self, tag: int) -> bytes:
        """Nobody waits for this tag any more. The bytes tell the broker; none if it has nothing to stop."""
        asked = self._open.pop(tag, None)
        if asked is None:
            return b""
        return frame(encode(Message(Kind.REQUEST, asked[0], matchtag=tag, flags=_CANCEL)))


def pack(topic: str, body: object) -> bytes:
    """The body encoded. Raises InvalidRequest for a value that no message can hold."""
    try:
        return encode_body(body)
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"{topic}: the request holds a value that no message can: {error}") from error


def is_last(message: Message) -> bool:
    """No answer follows this one: it is the end of a stream, an error, or the only one."""
    return message.error is not None or not message.flags & _STREAM


def is_end(message: Message) -> bool:
    """The mark after the last answer of a stream; it has no body."""
    return bool(message.flags & Flag.END)


def read_reply(message: Message, reply: type[P]) -> P:
    """The answer as `reply`; raises the error it carries, or ProtocolError if it is of another shape."""
    failure = message.failure()
    if failure is not None:
        raise failure
    try:
        return message.read(reply)
    except InvalidRequest as error:
        raise ProtocolError(f"the broker's answer to {message.topic} is not understood: {error}") from error


def read_body(message: Message) -> object:
    """The answer's plain body; raises the error it carries."""
    failure = message.failure()
    if failure is not None:
        raise failure
    return message.body
