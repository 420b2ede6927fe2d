"""Callbacks for events of jobs: from the journal, and from the eventlog what happened before it was listened to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from fluxlike.client import requests
from fluxlike.client.call_traffic import Ask
from fluxlike.client.core import is_end, read_reply
from fluxlike.client.futures import EventCallback, JobFuture
from fluxlike.client.results import Event, JournalEvent
from fluxlike.errors import FluxlikeError
from fluxlike.protocol.jobs import JobEvents, JobEventsReply, JournalRows
from fluxlike.protocol.message import Message

log = logging.getLogger("fluxlike.client")


class Registration:
    __slots__ = ("callback", "name", "seen")

    def __init__(self, name: str, callback: EventCallback) -> None:
        self.name = name
        self.callback = callback
        self.seen: set[int] = set()
        """Numbers of events that were told: journal and eventlog may both have one."""

    def tell(self, future: JobFuture[Any], number: int, event: Event) -> None:
        if event.name != self.name or number in self.seen:
            return
        self.seen.add(number)
        try:
            self.callback(future, event)
        except Exception:  # as concurrent.futures treats callbacks: theirs is not ours
            log.exception("the callback for event %s of job %s failed", event.name, future.id)


class EventWatch:
    def __init__(self, ask: Ask, find: Callable[[int], JobFuture[Any] | None], ids_awaited: Callable[[], bool]) -> None:
        """`find` gives the future of a job; `ids_awaited`: an unknown job may turn out to be one of ours."""
        self._ask = ask
        self._find = find
        self._ids_awaited = ids_awaited
        self._journals: set[str] = set()
        self._for_all: list[tuple[str, EventCallback]] = []
        self._registered: dict[JobFuture[Any], list[Registration]] = {}
        self._on_their_way: set[JobFuture[Any]] = set()
        """Submitted, and no id has come."""
        self._late: list[tuple[JobFuture[Any], Registration]] = []
        """Registered when the submission was on its way: the journal may have begun too late for them."""
        self._early: dict[int, list[JournalEvent]] = {}
        """Events of jobs whose ids are not known yet."""

    def watch(self, future: JobFuture[Any] | None, name: str, callback: EventCallback) -> None:
        if name not in self._journals:
            self._journals.add(name)
            self._ask(requests.journal((name,)), partial(self._on_journal, name), stream=True)
        if future is None:
            self._for_all.append((name, callback))
            return
        registration = Registration(name, callback)
        if future.id is None or self._find(future.id) is not None:
            self._registered.setdefault(future, []).append(registration)
        if future.id is not None:
            self._ask_for_past(future, registration)
        elif future in self._on_their_way:
            self._late.append((future, registration))

    def concerns(self, future: JobFuture[Any] | None) -> bool:
        return future in self._registered

    def sent(self, future: JobFuture[Any]) -> None:
        self._on_their_way.add(future)
        if self._for_all and future not in self._registered:
            self._registered[future] = []
        for name, callback in self._for_all:
            self._registered[future].append(Registration(name, callback))

    def known(self, future: JobFuture[Any]) -> None:
        """It has an id."""
        self._on_their_way.discard(future)
        assert future.id is not None
        for event in self._early.pop(future.id, ()):
            self._tell(future, event)

    def answered(self) -> None:
        """A submission was: with its ids, or without."""
        late, self._late = self._late, []
        for future, registration in late:
            if future.id is not None:
                self._ask_for_past(future, registration)
            elif future in self._on_their_way:
                self._late.append((future, registration))
        if not self._ids_awaited():
            self._early.clear()

    def forget(self, future: JobFuture[Any]) -> None:
        self._registered.pop(future, None)
        self._on_their_way.discard(future)

    def _on_journal(self, name: str, message: Message) -> None:
        if is_end(message):
            return
        try:
            events = requests.journal_events(read_reply(message, JournalRows))
        except FluxlikeError as error:
            self._journals.discard(name)
            log.error("callbacks for event %s will not be called: %s", name, error)
            return
        for event in events:
            future = self._find(event.id)
            if future is not None:
                self._tell(future, event)
            elif self._ids_awaited():
                self._early.setdefault(event.id, []).append(event)

    def _tell(self, future: JobFuture[Any], event: JournalEvent) -> None:
        for registration in self._registered.get(future, ()):
            registration.tell(future, event.number, event)

    def _ask_for_past(self, future: JobFuture[Any], registration: Registration) -> None:
        assert future.id is not None
        self._ask(JobEvents(id=future.id), partial(self._on_past, future, registration))

    def _on_past(self, future: JobFuture[Any], registration: Registration, message: Message) -> None:
        if message.failure() is not None:
            return
        for number, row in enumerate(read_reply(message, JobEventsReply).events):
            registration.tell(future, number, Event.from_row(row))
