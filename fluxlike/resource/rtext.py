"""R as text for many jobs: those that get the same cores share all of it but the times."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable

from fluxlike.resource.rset import RSet

_TIMES = '"starttime": 0.0, "expiration": 0.0}}'
_MOST = 65536
"""Texts kept. A machine has many more sets of cores than jobs use, but a wild mix must not fill the memory."""


class RTexts:
    def __init__(self) -> None:
        self._heads: dict[Hashable, str] = {}

    def clear(self) -> None:
        """Hosts have other names or places now."""
        self._heads.clear()

    def text(self, key: Hashable, make: Callable[[], RSet], starttime: float, expiration: float) -> str:
        """`make` gives the set for `key`, without times; it is asked only once."""
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _MOST:
                self._heads.clear()
            whole = json.dumps(make().to_json(), ensure_ascii=False)
            head = self._heads[key] = whole.removesuffix(_TIMES)
            assert head != whole, "R must end with its times"
        return f'{head}"starttime": {starttime!r}, "expiration": {expiration!r}}}}}'
