"""A Python call as a job: how it is sent, what runs it, how its outcome comes back.

`python -m fluxlike.client.call` is the job. Where its standard output went is the way back, and carries the outcome
alone: what the call prints goes with its standard error.
"""

from __future__ import annotations

import os
import pickle
import sys
from binascii import a2b_base64, b2a_base64

from fluxlike.config import environment
from fluxlike.errors import InvalidRequest

# As typing.TYPE_CHECKING: every call waits for what is imported here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

VALUE = "FLUX_JOB_CC"
"""A small call comes in the value of `{cc}`: jobs that differ only by it share one jobspec, stored and sent once."""

PATH, MAIN = "FLUXLIKE_CALL_PATH", "FLUXLIKE_CALL_MAIN"
"""Where modules are looked for, and the file of the main program, whose functions a call may name."""

MAIN_NAME = "__mp_main__"
"""The main program's module in the job, as multiprocessing calls it: what stands under `if __name__ == "__main__"`
is for the submitter alone."""

LENGTH_BYTES = 8


class CallError(Exception):
    """Stands for an exception, or a result, that cannot be sent."""


def _dumps(value: object) -> bytes:
    """By value where cloudpickle is there to do it, else by name."""
    try:
        import cloudpickle  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    packed: bytes = cloudpickle.dumps(value)
    return packed


# -- the submitter's side ------------------------------------------------------------------------------------


def pack_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Raises InvalidRequest for what cannot be sent."""
    try:
        packed = _dumps((function, args, kwargs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidRequest(f"this call cannot be sent to another process: {error}; {_ADVICE}") from error
    if _names_main(packed) and not main_file():
        raise InvalidRequest(f"this call names something in a main program that is not a file; {_ADVICE}")
    return packed


_ADVICE = "install cloudpickle, or put the function into a module"


def as_text(packed: bytes) -> str:
    """Without any of the signs that a jobspec gives a meaning to."""
    return b2a_base64(packed, newline=False).decode()


def variables() -> dict[str, str]:
    """What the job's environment needs besides, so that it finds the submitter's modules."""
    places = [os.path.abspath(place) for place in sys.path]
    return {PATH: os.pathsep.join(places), MAIN: main_file()}


def main_file() -> str:
    """Empty if the main program is not a file: typed in, or given by -c."""
    path = getattr(sys.modules["__main__"], "__file__", None) or ""
    return os.path.abspath(path) if os.path.isfile(path) else ""


def _names_main(packed: bytes) -> bool:
    return b"__main__" in packed


def read_outcome(data: bytes) -> tuple[bool, Any, str] | None:
    """Whether it returned, what it returned or raised, the traceback's text. None: the job ended before it was out."""
    size = int.from_bytes(data[:LENGTH_BYTES], "big")
    if len(data) < LENGTH_BYTES + size or not size:
        return None
    # What the main program defines has that module's other name in the job.
    sys.modules.setdefault(MAIN_NAME, sys.modules["__main__"])
    outcome: tuple[bool, Any, str] = pickle.loads(data[LENGTH_BYTES:])
    return outcome


# -- the job's side ------------------------------------------------------------------------------------------


def call_each(function: Callable[..., Any], rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Several calls in one job: a new Python for each of many small ones would be most of the work."""
    return [function(*row) for row in rows]


def main() -> int:
    way_back = os.dup(1)
    os.dup2(2, 1)
    text = environment.take(VALUE)
    packed = a2b_base64(text) if text else _read_all(0)
    places, main = environment.take(PATH), environment.take(MAIN)
    returned, data = _run(packed, places, main)
    sys.stdout.flush()
    _write_all(way_back, len(data).to_bytes(LENGTH_BYTES, "big") + data)
    return 0 if returned else 1


def _run(packed: bytes, places: str, main: str) -> tuple[bool, bytes]:
    """Whether the call returned, and its outcome packed. Whatever it raises is the submitter's to see."""
    try:
        sys.path.extend(place for place in places.split(os.pathsep) if place not in sys.path)
        if main and _names_main(packed):
            _load_main(main)
        function, args, kwargs = pickle.loads(packed)
        return True, _dumps((True, function(*args, **kwargs), ""))
    except BaseException as error:  # noqa: BLE001  this is the boundary of the call
        import traceback

        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        text = "".join(traceback.format_exception(error))
        return False, _pack_error(error, text)


def _pack_error(error: BaseException, text: str) -> bytes:
    """Many exceptions can be packed but not unpacked again; the submitter must not stumble over that."""
    try:
        packed = _dumps((False, error, text))
        pickle.loads(packed)
    except Exception:  # noqa: BLE001  any code of the exception's class may run here
        return _dumps((False, CallError(f"{type(error).__name__}: {error}"), text))
    return packed


def _load_main(path: str) -> None:
    import runpy
    from types import ModuleType

    module = ModuleType(MAIN_NAME)
    module.__dict__.update(runpy.run_path(path, run_name=MAIN_NAME))
    sys.modules["__main__"] = sys.modules[MAIN_NAME] = module


def _read_all(fd: int) -> bytes:
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


if __name__ == "__main__":
    # By its full name, so that what the submitter named here is the same module.
    from fluxlike.client.call import main as run

    sys.exit(run())
