"""The tree of brokers as one broker sees it: a parent above, a subtree below (docs/rfc/002)."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import ClassVar

import zmq

from fluxlike import __version__
from fluxlike.errors import FluxlikeError, ProtocolError
from fluxlike.idset import Idset
from fluxlike.protocol.message import Kind, Message, decode, encode
from fluxlike.protocol.payload import Payload
from fluxlike.protocol.tree import Goodbye, Hello, Joined, Keepalive, Left, Refuse, RootIs, Torpid, Welcome, Who
from fluxlike.tree.subtree import Members, Subtree, Uuid, members_from
from fluxlike_broker.bootstrap import Bootstrap
from fluxlike_broker.router import Router
from fluxlike_broker.zmq_link import Keys, Link, dealer_socket, gatekeeper, router_socket

log = logging.getLogger("fluxlike.overlay")

FIRST_RETRY, LAST_RETRY = 0.05, 2.0


class OverlayEvents:
    """What the overlay tells its broker. The daemon replaces these."""

    def on_attached(self) -> None:
        """Attached, for the first time or anew: to another parent, or to another life of the parent or of rank 0.

        What was on its way upwards may be lost."""

    def on_members(self, members: Members, replaced: set[int]) -> None:
        """Ranks came, directly or through a child; the earlier lives of `replaced` are gone."""

    def on_left(self, ranks: set[int], *, cleanly: bool) -> None: ...

    def on_torpid(self, ranks: set[int], *, torpid: bool) -> None: ...

    def on_cut_off(self, since: float) -> None:
        """No ancestor has answered for `since` seconds."""

    def on_refused(self, reason: str) -> None: ...

    def on_child_gone(self) -> None: ...


class Overlay:
    """ROUTER down, DEALER up, one frame per message. Routes are learned from hello messages."""

    def __init__(self, boot: Bootstrap, router: Router, uuid: Uuid, events: OverlayEvents) -> None:
        self._boot = boot
        self._router = router
        self.uuid = uuid
        self.root: Uuid = uuid if boot.rank == 0 else b""
        self._parent_uuid: Uuid = b""
        self._events = events
        self._loop = asyncio.get_running_loop()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._keys = Keys(boot.public_key, boot.secret_key)
        self.subtree = Subtree()
        self._waiting: set[Uuid] = set()
        self._down: Link | None = None
        self._zap: Link | None = None
        self._up: Link | None = None
        self._ancestor = 0
        """Index into boot.ancestors of the one we hang on, or try."""
        self.attached = False
        """Whether children may attach to us: the root once it is ready, others once they hang on a parent."""
        self._closing = False
        self._heard = self._loop.time()
        self._unattached_since: float | None = None
        self._parent_cut_off = 0.0
        """Seconds for which our parent has had no way to rank 0, as it told us."""
        self._retry = FIRST_RETRY
        self._retry_timer: asyncio.TimerHandle | None = None
        self._sequence = 0
        self.dropped = 0

    # -- opening and closing --------------------------------------------------------------------------------

    def open(self) -> None:
        self._zap = gatekeeper(self._context, self._keys)
        self._down = Link(
            router_socket(self._context, self._keys, self._boot.bind, ipv6=self._boot.ipv6), self._from_below
        )
        if self._boot.rank != 0:
            self._connect()

    def close(self, *, goodbye: bool) -> None:
        self._closing = True
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        if goodbye and self.attached:
            self._control_up(Goodbye())
        for link in (self._up, self._down):
            if link is not None:
                link.close(linger=1000)
        if self._zap is not None:
            self._zap.close()
        self._context.term()

    def accept_children(self) -> None:
        """The root is ready: let in whoever has been waiting."""
        self.attached = True
        self._call_waiting()

    def _call_waiting(self) -> None:
        for uuid in self._waiting:
            self._control_down(uuid, Who())
        self._waiting.clear()

    # -- upwards --------------------------------------------------------------------------------------------

    @property
    def parent(self) -> int | None:
        return self._boot.ancestors[self._ancestor] if self._boot.ancestors else None

    def _connect(self) -> None:
        """Open a fresh link to the ancestor whose turn it is and say hello until it answers."""
        if self._up is not None:
            self._up.close()
        self.attached = False
        if self._unattached_since is None:
            self._unattached_since = self._loop.time()
        socket = dealer_socket(self._context, self._keys, self.uuid, ipv6=self._boot.ipv6)
        socket.connect(self._boot.endpoints[self._boot.ancestors[self._ancestor]])
        self._up = Link(socket, self._from_above)
        self._heard = self._loop.time()
        self._retry = FIRST_RETRY
        self._hello()

    def _hello(self) -> None:
        if self._closing:
            return
        members = {self._boot.rank: [self.uuid, self._boot.host, self.parent]}
        members.update({rank: list(member) for rank, member in self.subtree.members().items()})
        self._control_up(
            Hello(rank=self._boot.rank, instance=self._boot.instance, version=__version__, members=members)
        )
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        delay = self._retry * random.uniform(0.8, 1.2)
        self._retry = min(self._retry * 2, LAST_RETRY)
        self._retry_timer = self._loop.call_later(delay, self._say_again)

    def _say_again(self) -> None:
        if self.attached or self._closing:
            return
        assert self._unattached_since is not None
        now = self._loop.time()
        self._events.on_cut_off(now - self._unattached_since)
        if now - self._heard >= self._boot.overlay.lost and len(self._boot.ancestors) > 1:
            self._try_next_ancestor()
        else:
            self._hello()

    def _try_next_ancestor(self) -> None:
        silent = self.parent
        self._ancestor = (self._ancestor + 1) % len(self._boot.ancestors)
        log.warning("rank %s does not answer: attaching to rank %s", silent, self.parent)
        self._connect()

    def _from_above(self, frames: list[bytes]) -> None:
        self._heard = self._loop.time()
        message = self._decode(frames[-1])
        if message is None:
            return
        if message.kind == Kind.CONTROL:
            self._obey(message)
        elif message.kind == Kind.EVENT:
            self._note_sequence(message)
            self._router.deliver_event(message)
        else:
            self._router.forward(message)

    def _obey(self, message: Message) -> None:
        found = self._CONTROL_FROM_ABOVE.get(message.topic)
        if found is None:
            return
        kind, handler = found
        try:
            body = message.read(kind)
        except FluxlikeError as error:
            self._drop(error)
        else:
            handler(self, body)

    def _on_welcome(self, body: Welcome) -> None:
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        self._unattached_since = None
        self._parent_cut_off = 0.0
        news = not self.attached or (self._parent_uuid, self.root) != (body.uuid, body.root)
        self.attached = True
        self._parent_uuid = body.uuid
        if news:
            self._set_root(body.root)
        self._call_waiting()

    def _set_root(self, root: Uuid) -> None:
        if root != self.root:
            self._sequence = 0
        self.root = root
        self._events.on_attached()
        for uuid in self.subtree.children:
            self._control_down(uuid, RootIs(root=root))

    def _on_root(self, body: RootIs) -> None:
        if self.attached and body.root != self.root:
            self._set_root(body.root)

    def _on_who(self, body: Who) -> None:
        self._parent_uuid = b""  # it did not know us, and dropped what we sent: its welcome will be news
        self._retry = FIRST_RETRY
        self._hello()

    def _on_beat_of_parent(self, body: Keepalive) -> None:
        """It lives, and keeps its place while it looks for a way to rank 0. We give up when it does."""
        self._parent_cut_off = body.cut_off
        if body.cut_off and self.attached:
            self._events.on_cut_off(body.cut_off)

    def _on_refuse(self, body: Refuse) -> None:
        self._events.on_refused(body.reason)

    def _note_sequence(self, message: Message) -> None:
        expected, got = self._sequence + 1, message.matchtag
        if self._sequence and got != expected:
            log.warning("events %d to %d were missed", expected, got - 1)
        self._sequence = got

    _CONTROL_FROM_ABOVE: ClassVar[dict[str, tuple[type[Payload], Callable[..., None]]]] = {
        kind.topic: (kind, handler)
        for kind, handler in (
            (Welcome, _on_welcome),
            (RootIs, _on_root),
            (Who, _on_who),
            (Keepalive, _on_beat_of_parent),
            (Refuse, _on_refuse),
        )
    }

    # -- downwards ------------------------------------------------------------------------------------------

    def _from_below(self, frames: list[bytes]) -> None:
        uuid, data = frames[0], frames[-1]
        known = uuid in self.subtree.children
        message = self._decode(data) if data else None
        if message is not None and known and self.subtree.seen(uuid, self._loop.time()):
            self._torpid_changed({self.subtree.children[uuid].rank}, torpid=False)
        if message is not None and (known or message.topic == "hello"):
            self._take_from_child(uuid, message)
        elif not known:
            # The probe of a fresh connection, or a child of our earlier life.
            self._control_down(uuid, Who())

    def _take_from_child(self, uuid: Uuid, message: Message) -> None:
        if message.kind in (Kind.REQUEST, Kind.RESPONSE):
            self._router.forward(message)
        elif message.kind == Kind.CONTROL:
            self._heed(uuid, message)

    def _heed(self, uuid: Uuid, message: Message) -> None:
        found = self._CONTROL_FROM_BELOW.get(message.topic)
        if found is None:
            return
        kind, handler = found
        try:
            body = message.read(kind)
            members = members_from(body.members, self._boot.size) if isinstance(body, Hello | Joined) else {}
        except FluxlikeError as error:
            self._drop(error)
        else:
            handler(self, uuid, body, members)

    def _on_hello(self, uuid: Uuid, body: Hello, members: Members) -> None:
        reason = self._objection(body)
        if reason:
            log.warning("refused rank %s: %s", body.rank, reason)
            self._control_down(uuid, Refuse(reason=reason))
            return
        if not self.attached:
            self._waiting.add(uuid)
            return
        gone = self.subtree.attach(uuid, body.rank, members, self._loop.time())
        self._ask_displaced()
        self._control_down(uuid, Welcome(uuid=self.uuid, root=self.root))
        # What hung on an earlier life of the child must find its own way back.
        self._gone(gone - members.keys(), cleanly=False)
        self._events.on_members(members, gone & members.keys())
        self._control_up(Joined(members=members))

    def _ask_displaced(self) -> None:
        """A broker that was silent for a while may still claim those that have turned from it to us: they say so."""
        for uuid in self.subtree.displaced():
            self._control_down(uuid, Who())

    def _objection(self, body: Hello) -> str:
        if body.instance != self._boot.instance:
            return f"it belongs to another instance ({body.instance})"
        if body.version.split(".")[:2] != __version__.split(".")[:2]:
            return f"it runs version {body.version}, this instance {__version__}"
        if body.rank not in body.members or not 0 < body.rank < self._boot.size:
            return f"this instance has ranks 0 to {self._boot.size - 1}"
        return ""

    def _on_joined(self, uuid: Uuid, body: Joined, members: Members) -> None:
        replaced = self.subtree.announce_replacements(members)
        self.subtree.announce(uuid, members)
        self._ask_displaced()
        self._events.on_members(members, replaced)
        self._control_up(body)

    def _on_left(self, uuid: Uuid, body: Left, _: Members) -> None:
        self._gone(self.subtree.withdraw(uuid, set(body.ranks)), cleanly=body.cleanly)

    def _on_goodbye(self, uuid: Uuid, body: Goodbye, _: Members) -> None:
        self._gone(self.subtree.detach(uuid), cleanly=True)
        self._events.on_child_gone()

    def _on_torpid(self, uuid: Uuid, body: Torpid, _: Members) -> None:
        known = {rank for rank in body.ranks if self.subtree.next_hop(rank) == uuid}
        if known:
            self._torpid_changed(known, torpid=body.torpid)

    def _gone(self, ranks: set[int], *, cleanly: bool) -> None:
        if ranks:
            self._events.on_left(ranks, cleanly=cleanly)
            self._control_up(Left(ranks=sorted(ranks), cleanly=cleanly))

    def _torpid_changed(self, ranks: set[int], *, torpid: bool) -> None:
        self._events.on_torpid(ranks, torpid=torpid)
        self._control_up(Torpid(ranks=sorted(ranks), torpid=torpid))

    def _on_keepalive(self, uuid: Uuid, body: Keepalive, _: Members) -> None:
        """That it came is all it says."""

    _CONTROL_FROM_BELOW: ClassVar[dict[str, tuple[type[Payload], Callable[..., None]]]] = {
        kind.topic: (kind, handler)
        for kind, handler in (
            (Hello, _on_hello),
            (Keepalive, _on_keepalive),
            (Joined, _on_joined),
            (Left, _on_left),
            (Goodbye, _on_goodbye),
            (Torpid, _on_torpid),
        )
    }

    # -- liveness -------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Called once per heartbeat: tell the neighbours we live, look for the silent on both sides."""
        now = self._loop.time()
        self._beat_down(now)
        silence = self.subtree.silent(now, self._boot.overlay.torpid, self._boot.overlay.lost)
        for uuid in silence.torpid:
            rank = self.subtree.children[uuid].rank
            log.warning("rank %d is torpid: silent for %g s", rank, self._boot.overlay.torpid)
            self._torpid_changed({rank}, torpid=True)
        for uuid in silence.lost:
            ranks = self.subtree.detach(uuid)
            log.error("lost rank %s: silent for %g s", Idset.of(ranks), self._boot.overlay.lost)
            self._gone(ranks, cleanly=False)
            self._events.on_child_gone()
        if self._boot.rank != 0 and self.attached:
            self._control_up(Keepalive())
            if now - self._heard >= self._boot.overlay.lost:
                log.error("lost parent rank %s: silent for %g s", self.parent, self._boot.overlay.lost)
                self.attached = False
                self._unattached_since = self._heard
                if len(self._boot.ancestors) > 1:
                    self._try_next_ancestor()
                else:
                    self._connect()

    def _beat_down(self, now: float) -> None:
        """Rank 0 is heard of by its events. Below it each broker speaks for itself, so that when rank 0 is silent, only
        its own children look for another place: who is below them keeps theirs."""
        if self._boot.rank == 0 or not self.subtree.children:
            return
        cut_off = self._parent_cut_off if self._unattached_since is None else now - self._unattached_since
        for uuid in self.subtree.children:
            self._control_down(uuid, Keepalive(cut_off=cut_off))

    # -- sending --------------------------------------------------------------------------------------------

    def _control_up(self, body: Payload) -> None:
        if self._up is not None:
            self._up.send([encode(Message(Kind.CONTROL, body.topic, body))])

    def _control_down(self, uuid: Uuid, body: Payload) -> None:
        assert self._down is not None
        self._down.send([uuid, encode(Message(Kind.CONTROL, body.topic, body))])

    def send_up(self, message: Message) -> bool:
        if self._up is None or not self.attached:
            return False
        return self._up.send([encode(message)])

    def send_to(self, rank: int, message: Message) -> bool:
        uuid = self.subtree.next_hop(rank)
        if uuid is None or self._down is None:
            return False
        return self._down.send([uuid, encode(message)])

    def flood_down(self, message: Message) -> None:
        if self.subtree.children and self._down is not None:
            data = encode(message)
            for uuid in self.subtree.children:
                self._down.send([uuid, data])

    def _decode(self, data: bytes) -> Message | None:
        try:
            return decode(data)
        except ProtocolError as error:
            self._drop(error)
            return None

    def _drop(self, error: FluxlikeError) -> None:
        self.dropped += 1
        log.warning("dropped a malformed message: %s", error)
