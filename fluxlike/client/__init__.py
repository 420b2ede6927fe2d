"""The way to an instance from Python: `Client` blocks, `AsyncClient` awaits; what they can do is the same.
`FluxlikeExecutor` is for programs that know concurrent.futures.

All are loaded on first use, so that a program pays only for the face it takes.
"""

from __future__ import annotations

# As typing.TYPE_CHECKING, without the price of importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from fluxlike.client.aio import AsyncClient as AsyncClient
    from fluxlike.client.blocking import Client as Client
    from fluxlike.client.executor import FluxlikeExecutor as FluxlikeExecutor
    from fluxlike.client.futures import JobFailed as JobFailed
    from fluxlike.client.futures import JobFuture as JobFuture
    from fluxlike.client.results import Event as Event
    from fluxlike.client.results import JobRecord as JobRecord
    from fluxlike.client.results import JournalEvent as JournalEvent
    from fluxlike.client.results import OutputChunk as OutputChunk
    from fluxlike.client.results import TaskRecord as TaskRecord
else:
    _HOMES = {
        "AsyncClient": "fluxlike.client.aio",
        "Client": "fluxlike.client.blocking",
        "Event": "fluxlike.client.results",
        "FluxlikeExecutor": "fluxlike.client.executor",
        "JobFailed": "fluxlike.client.futures",
        "JobFuture": "fluxlike.client.futures",
        "JobRecord": "fluxlike.client.results",
        "JournalEvent": "fluxlike.client.results",
        "OutputChunk": "fluxlike.client.results",
        "TaskRecord": "fluxlike.client.results",
    }

    def __getattr__(name):
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(home), name)
        return value


__all__ = [
    "AsyncClient",
    "Client",
    "Event",
    "FluxlikeExecutor",
    "JobFailed",
    "JobFuture",
    "JobRecord",
    "JournalEvent",
    "OutputChunk",
    "TaskRecord",
]
