"""How long does a short command take in a running instance, compared with Python doing nothing?"""

from __future__ import annotations

from collections.abc import Iterator

from environment import Installation, Instance
from ratio import compare
from report import Row
from rows import ratio_row

JOBS = 100


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    rounds = 10 if quick else 50
    with installation.instance() as instance:
        yield from _row(instance, "submit true", ("submit", "true"), 5.0, rounds)
        yield from _row(instance, "run true", ("run", "true"), 6.0, rounds)
        # Held, so that they stay and are listed, and nothing runs beside what is measured.
        instance.run("submit", f"--cc=1-{JOBS}", "--urgency=0", "true")
        yield from _row(instance, f"jobs, {JOBS} of them", ("jobs",), 5.0, rounds)


def _row(instance: Instance, name: str, words: tuple[str, ...], limit: float, rounds: int) -> Iterator[Row]:
    installation = instance.installation
    command = installation.program(*words)
    found = compare({name: command}, installation.idle, instance.env, rounds, between=instance.settle)
    yield ratio_row(f"fluxlike {name}", found[name], limit)
