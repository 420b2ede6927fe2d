"""The only module of the executor that reads the machine's time (it may not import the library's clock)."""

from __future__ import annotations

import time

monotonic = time.monotonic
"""For deadlines."""

wall = time.time  # noqa: TID251  this is the one place
"""For what is reported."""
