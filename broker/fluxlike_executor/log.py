"""One line on standard error per thing worth knowing. No logging package: it would cost a megabyte."""

from __future__ import annotations

import os


def warn(text: str) -> None:
    """Never raises: a full disk or a closed descriptor 2 must not end the jobs."""
    line = f"fluxlike-executor[{os.getpid()}]: {text}\n"
    try:
        os.write(2, line.encode("utf-8", "backslashreplace"))
    except OSError:
        return
