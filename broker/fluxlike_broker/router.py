"""The router: every message of a broker passes here, and a service is reached by a plain call."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from fluxlike.errors import FluxlikeError, HostUnreachable, NoSuchService
from fluxlike.protocol.instance import Ping
from fluxlike.protocol.message import ANY, ROLE_OWNER, Flag, Kind, Message
from fluxlike.protocol.payload import Payload
from fluxlike_broker.call import Call
from fluxlike_broker.service import handlers_of

log = logging.getLogger("fluxlike.router")

OnReply = Callable[[Message], None]
OnEvent = Callable[[str, Any, int], None]
"""(name, body, sequence)"""


class Links(Protocol):
    """The overlay as the router needs it."""

    def send_up(self, message: Message) -> bool:
        """False if there is no parent (the root) or none attached."""
        ...

    def send_to(self, rank: int, message: Message) -> bool:
        """Towards a rank below; False if no route is known."""
        ...

    def flood_down(self, message: Message) -> None: ...


class Clients(Protocol):
    def deliver(self, message: Message) -> bool:
        """To the local client named by `sender`; False if it is gone."""
        ...


class Pending:
    """A request of this broker's own that waits for its answer."""

    __slots__ = ("message", "on_reply")

    def __init__(self, message: Message, on_reply: OnReply) -> None:
        self.message = message
        self.on_reply = on_reply


class Router:
    def __init__(self, rank: int, userid: int, sender: int) -> None:
        """`sender` is this broker's own id as an asker: random per life, so that no answer reaches a later self."""
        self.rank = rank
        self.sender = sender
        self._userid = userid
        self._links: Links | None = None
        self._clients: Clients | None = None
        self._handlers: dict[str, tuple[type[Payload], Callable[..., Any]]] = {}
        self._services: set[str] = set()
        self._open: dict[tuple[int, int, int], Call] = {}
        self._pending: dict[int, Pending] = {}
        self._last_tag = 0
        self._subscribers: list[tuple[str, OnEvent]] = []

    def connect(self, links: Links, clients: Clients) -> None:
        self._links, self._clients = links, clients

    def register(self, service: object) -> None:
        """Offer every topic the service declares."""
        for payload, handler in handlers_of(service):
            self._handlers[payload.topic] = (payload, handler)
            self._services.add(payload.topic.partition(".")[0])

    def subscribe(self, prefix: str, on_event: OnEvent) -> Callable[[], None]:
        """Returns what ends the subscription."""
        entry = (prefix, on_event)
        self._subscribers.append(entry)
        return lambda: self._subscribers.remove(entry)

    # -- asking ---------------------------------------------------------------------------------------------

    def request(
        self, payload: Payload, on_reply: OnReply | None = None, *, nodeid: int = ANY, stream: bool = False
    ) -> int:
        """Ask a service here or elsewhere. Without `on_reply` no answer is wanted. Returns the match tag."""
        flags = Flag.NONE if on_reply else Flag.NO_RESPONSE
        if stream:
            flags |= Flag.STREAM
        self._last_tag += 1
        tag = self._last_tag
        message = Message(
            Kind.REQUEST,
            payload.topic,
            payload,
            nodeid=nodeid,
            matchtag=tag,
            sender=self.sender,
            userid=self._userid,
            roles=ROLE_OWNER,
            flags=flags,
            route=[self.rank],
        )
        if on_reply is not None:
            self._pending[tag] = Pending(message, on_reply)
        self.handle(message)
        return tag

    def fail_pending(self, ranks: set[int], error: FluxlikeError) -> None:
        """Requests of our own to ranks that are gone fail at once."""
        for pending in [p for p in self._pending.values() if p.message.nodeid in ranks]:
            self._to_self(pending.message.response(error=error))

    # -- passing on -----------------------------------------------------------------------------------------

    def handle(self, message: Message) -> None:
        kind = message.kind
        if kind == Kind.REQUEST:
            self._route_request(message)
        elif kind == Kind.RESPONSE:
            self._route_response(message)
        elif kind == Kind.EVENT:
            self.deliver_event(message)
        else:
            log.warning("control message %s is not for a router", message.topic)

    def forward(self, message: Message) -> None:
        """A message from another broker: note where it passed, then treat it as any."""
        if len(message.route) > 64:
            log.warning("dropped %r: it has gone in circles", message)
            if message.kind == Kind.REQUEST:
                self._refuse(message, HostUnreachable(f"rank {message.nodeid} is not reachable: no route leads there"))
            return
        message.route.append(self.rank)
        self.handle(message)

    def _route_request(self, message: Message) -> None:
        nodeid = message.nodeid
        if nodeid == self.rank:
            self._serve(message)
        elif nodeid == ANY:
            upstream = message.flags & Flag.UPSTREAM and len(message.route) == 1
            if not upstream and message.topic.partition(".")[0] in self._services:
                self._serve(message)
            elif self._links is None or not self._links.send_up(message):
                self._refuse(message, self._nobody(message))
        elif self._links is None or not (self._links.send_to(nodeid, message) or self._links.send_up(message)):
            self._refuse(message, HostUnreachable(f"rank {nodeid} is not reachable"))

    def _nobody(self, message: Message) -> FluxlikeError:
        if self.rank == 0:
            return NoSuchService(f"no service answers {message.topic}")
        return HostUnreachable(f"rank {self.rank} has no connection to its parent")

    def _route_response(self, message: Message) -> None:
        if message.nodeid != self.rank:
            if self._links is not None and not self._links.send_to(message.nodeid, message):
                self._links.send_up(message)
        elif message.sender == self.sender:
            self._to_self(message)
        elif self._clients is not None:
            self._clients.deliver(message)

    def _to_self(self, message: Message) -> None:
        tag = message.matchtag
        pending = self._pending.get(tag)
        if pending is None:
            return
        if not message.flags & Flag.STREAM:
            del self._pending[tag]
        pending.on_reply(message)

    # -- serving --------------------------------------------------------------------------------------------

    def _serve(self, message: Message) -> None:
        if message.flags & Flag.CANCEL:
            open_call = self._open.pop((message.route[0], message.sender, message.matchtag), None)
            if open_call is not None:
                open_call.cancel()
            return
        found = self._handlers.get(message.topic) or self._ping_of(message.topic)
        if found is None:
            self._refuse(message, NoSuchService(f"no service answers {message.topic} on rank {self.rank}"))
            return
        call = Call(self, message)
        self._dispatch(call, *found)
        if not call.done:
            self._open[call.key] = call

    def _ping_of(self, topic: str) -> tuple[type[Payload], Callable[..., Any]] | None:
        """Every service can be pinged; where it is served, its broker answers."""
        service, _, verb = topic.partition(".")
        return self._handlers.get(Ping.topic) if verb == "ping" and service in self._services else None

    def _dispatch(self, call: Call, payload: type[Payload], handler: Callable[..., Any]) -> None:
        try:
            reply = handler(call.message.read(payload), call)
        except FluxlikeError as error:
            call.fail(error)
        except Exception:  # the dispatcher: a bug in one handler must not end the broker
            topic = call.message.topic
            log.exception("handler of %s failed", topic)
            call.fail(FluxlikeError(f"internal error in {topic}; see dmesg of rank {self.rank}"))
        else:
            if reply is not None:
                call.respond(reply)

    def answer(self, call: Call, response: Message) -> None:
        if call.done:
            self._open.pop(call.key, None)
        self._route_response(response)

    def _refuse(self, message: Message, error: FluxlikeError) -> None:
        if not message.flags & (Flag.NO_RESPONSE | Flag.CANCEL):
            self._route_response(message.response(error=error))

    def drop_calls_from(self, rank: int) -> None:
        """Whatever a lost rank was asking for, nobody waits for the answer."""
        for key in [key for key in self._open if key[0] == rank]:
            self._open.pop(key).cancel()

    # -- events ---------------------------------------------------------------------------------------------

    def deliver_event(self, message: Message) -> None:
        """To local subscribers, then down the tree."""
        for prefix, on_event in list(self._subscribers):
            if message.topic.startswith(prefix):
                try:
                    on_event(message.topic, message.body, message.matchtag)
                except Exception:  # one subscriber's mistake must not keep the event from the others
                    log.exception("subscriber of %s failed", message.topic)
        if self._links is not None:
            self._links.flood_down(message)
