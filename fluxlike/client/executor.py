"""`concurrent.futures.Executor` over an instance: each call or command is a job."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import chain, islice
from typing import Any, ParamSpec, TypeVar

from fluxlike.client import call
from fluxlike.client.courier import Courier
from fluxlike.client.futures import EventCallback, JobFuture, Work
from fluxlike.client.results import JobRecord
from fluxlike.config import environment
from fluxlike.errors import InvalidRequest
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.model import Jobspec

P = ParamSpec("P")
T = TypeVar("T")

SMALL_CALL = 3 * 1024
"""Bytes of a call that travels with its job. It is in every record of that job, so larger ones go by standard input."""

_alive: weakref.WeakSet[Courier] = weakref.WeakSet()


@atexit.register
def _finish_all() -> None:
    """As other executors: what was submitted is seen to its end before the program ends."""
    for courier in list(_alive):
        courier.close()
        courier.join()


class FluxlikeExecutor(Executor):
    """Runs Python calls and commands as jobs of an instance, by default of the one that encloses this process.

    `options` are those of `fluxlike.jobspec.build.from_command` and hold for every job: `cores_per_task`, `duration`,
    `nnodes` and so on. Jobs run where this executor was made and with the environment of then, unless `cwd` and
    `environment` say otherwise. Any thread may use it; it has one thread and one connection of its own."""

    def __init__(self, uri: str | None = None, *, urgency: int = 16, python: str = "", **options: Any) -> None:
        """`python` runs the calls, by default this interpreter. Raises what `Client(uri)` does."""
        self._urgency = urgency
        self._python = python or sys.executable
        self._options = {"cwd": os.getcwd(), "environment": environment.snapshot(), **options}
        from_command(["true"], **self._options)  # wrong options are told here, not with the first job
        self._call_specs: dict[tuple[str, bool], dict[str, Any]] = {}
        self._courier = Courier(uri)
        _alive.add(self._courier)
        weakref.finalize(self, self._courier.close).atexit = False
        self.uri = self._courier.uri

    # -- calls ----------------------------------------------------------------------------------------------

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> JobFuture[T]:
        """The future of `fn(*args, **kwargs)` in a job of its own.

        Its result is what the call returned; its exception what the call raised, with the text of the traceback as its
        cause, or JobFailed if the job ended without either. What the call prints is the job's standard error. Raises
        InvalidRequest for what cannot be pickled."""
        packed = call.pack_call(fn, args, kwargs)
        small = len(packed) <= SMALL_CALL
        future: JobFuture[T] = JobFuture(
            self._courier,
            Work(
                self._call_spec(getattr(fn, "__name__", "") or type(fn).__name__, small),
                self._urgency,
                is_call=True,
                cc=call.as_text(packed) if small else None,
                payload=b"" if small else packed,
            ),
        )
        self._courier.submit(future)
        return future

    def map(
        self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[T]:
        """As `map(fn, *iterables)`, in order. `chunksize` calls share a job: a Python takes a while to start."""
        if chunksize < 1:
            raise ValueError("chunksize must be 1 or more")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        rows = zip(*iterables, strict=False)
        chunks = iter(lambda: list(islice(rows, chunksize)), [])
        return chain.from_iterable(super().map(partial(call.call_each, fn), chunks, timeout=timeout))

    def _call_spec(self, name: str, small: bool) -> dict[str, Any]:
        """One for all calls of a name: the instance stores it, and sends it to a node, once."""
        spec = self._call_specs.get((name, small))
        if spec is None:
            chosen = {"name": name, **self._options}
            chosen["environment"] = {**chosen["environment"], **call.variables()}
            if not small:
                chosen["shell_options"] = {**chosen.get("shell_options", {}), "input": {"stdin": "pipe"}}
            spec = from_command([self._python, "-m", call.__name__], **chosen)
            self._call_specs[name, small] = spec
        return spec

    # -- commands -------------------------------------------------------------------------------------------

    def submit_command(
        self,
        command: Sequence[str] | dict[str, Any] | Jobspec,
        *,
        urgency: int | None = None,
        flags: Iterable[str] = (),
        **options: Any,
    ) -> JobFuture[JobRecord]:
        """The future of a job. Its result is the job's record once it is inactive, however it ended.

        `options` are added to those of the executor; a jobspec stands for itself and takes none."""
        chosen = self._urgency if urgency is None else urgency
        work = Work(self._command_spec(command, options), chosen, tuple(flags))
        future: JobFuture[JobRecord] = JobFuture(self._courier, work)
        self._courier.submit(future)
        return future

    def _command_spec(
        self, command: Sequence[str] | dict[str, Any] | Jobspec, options: dict[str, Any]
    ) -> dict[str, Any] | Jobspec:
        if isinstance(command, str | bytes):
            raise InvalidRequest(f"a command is a list of words: [{command!r}], or ['sh', '-c', {command!r}]")
        if isinstance(command, Sequence):
            return from_command(command, **{**self._options, **options})
        if options:
            raise InvalidRequest(f"a jobspec stands for itself: write {', '.join(options)} into it")
        return command

    # -- both -----------------------------------------------------------------------------------------------

    def add_event_callback(self, name: str, callback: EventCallback) -> None:
        """`callback(future, event)` for each event of this name of every job that is submitted from now on.

        As JobFuture.add_event_callback, without a request for each job."""
        self._courier.watch(None, name, callback)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more. With `cancel_futures`, cancel all that is not done, running jobs included.

        With `wait`, return when every future is done; else they go on, and this program ends after them."""
        self._courier.close()
        if cancel_futures:
            for future in self._courier.unsettled():
                future.cancel()
        if wait:
            self._courier.join()
