"""Attributes: named facts about a broker, for people and programs to read."""

from __future__ import annotations

from collections.abc import Callable

from fluxlike.errors import NotFound
from fluxlike.protocol.instance import AttrGet, AttrList, AttrListed, AttrValue
from fluxlike_broker.call import Call
from fluxlike_broker.service import request


class Attributes:
    """Values are text, computed when asked."""

    def __init__(self, facts: dict[str, Callable[[], object]]) -> None:
        self._facts = facts

    @request(AttrGet)
    def get(self, body: AttrGet, call: Call) -> AttrValue:
        fact = self._facts.get(body.name)
        if fact is None:
            raise NotFound(f"there is no attribute {body.name}{self._nearest(body.name)}")
        return AttrValue(name=body.name, value=str(fact()))

    def _nearest(self, name: str) -> str:
        import difflib

        found = difflib.get_close_matches(name, self._facts, 1)
        return f"; did you mean {found[0]}?" if found else "; see fluxlike lsattr"

    @request(AttrList)
    def list(self, body: AttrList, call: Call) -> AttrListed:
        return AttrListed(attrs={name: str(fact()) for name, fact in sorted(self._facts.items())})
