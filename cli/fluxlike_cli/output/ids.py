"""Job ids as the terminal can show them."""

from __future__ import annotations

import sys

from fluxlike.config.environment import wants_ascii_ids
from fluxlike.ids import encode, encode_f58


def id_text(job_id: int) -> str:
    """F58 with its ƒ, or with a plain f where the user or the encoding of standard output wants that."""
    text = encode_f58(job_id)
    if wants_ascii_ids():
        return encode(job_id, "f58plain")
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return encode(job_id, "f58plain")
    return text
