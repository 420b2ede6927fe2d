"""What to do with rows that the database will never take: find them, and save the others.

Such rows are somebody's bug: what comes from users is checked before. Tried again they would fail for ever, and
keep everything behind them from being stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from fluxlike.ids import encode_f58
from fluxlike_broker.store.batch import Batch

Unit = tuple[str, Batch]
"""What belongs together, and what to call it."""


def units(batch: Batch) -> list[Unit]:
    """The batch in its smallest parts, without callbacks."""
    found = [(f"job {encode_f58(job)}", part) for job, part in _by_job(batch).items()]
    for digest, body in batch.specs.items():
        found.append((f"spec {digest}", Batch()))
        found[-1][1].spec(digest, body)
    for key, row in batch.keys.items():
        found.append((f"key {key!r}", Batch()))
        found[-1][1].key(key, *row)
    for key, value in batch.state.items():
        found.append((f"state {key!r}", Batch()))
        found[-1][1].put(key, value)
    return found


def _by_job(batch: Batch) -> dict[int, Batch]:
    parts: defaultdict[int, Batch] = defaultdict(Batch)
    for row in batch.jobs:
        parts[row[0]].job(row)
    for job, log in batch.logs.items():
        parts[job].logs[job] = log
    for job, r in batch.allocations.items():
        parts[job].allocation(job, r)
    for job, end in batch.ended.items():
        parts[job].end(job, end)
    return parts


def refused(
    parts: Sequence[Unit], attempt: Callable[[Batch], None], is_hopeless: Callable[[Exception], bool]
) -> list[tuple[str, Exception]]:
    """Which parts `attempt` will never take, by halves; the others it has taken. Other errors are raised."""
    whole = Batch()
    for _, part in parts:
        whole.extend(part)
    try:
        attempt(whole)
    except Exception as error:
        if not is_hopeless(error):
            raise
        if len(parts) == 1:
            return [(parts[0][0], error)]
    else:
        return []
    middle = len(parts) // 2
    return [*refused(parts[:middle], attempt, is_hopeless), *refused(parts[middle:], attempt, is_hopeless)]
