"""Giving memory back to the system after much of it came free."""

from __future__ import annotations

import gc


def give_back() -> None:
    """Costs tens of milliseconds: for rare occasions. Where the C library cannot do it, nothing happens."""
    import ctypes

    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
