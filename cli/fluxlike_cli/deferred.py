"""Stand-ins for modules of the standard library that are seldom needed, loaded when first used.

`importlib.util.LazyLoader` does not do here: its modules load at the second `import` statement, because that
statement looks at `__spec__` and LazyLoader answers any look with the load. These answer only to names that a
module gets by running.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from threading import RLock
from types import ModuleType

_lock = RLock()
_running: set[str] = set()


class DeferredModule(ModuleType):
    """A module that runs its code at the first look at a name it does not have yet."""

    def __getattr__(self, name: str) -> object:
        with _lock:
            # Not again while it runs (modules that import each other), nor after another thread has run it.
            if type(self) is DeferredModule and self.__name__ not in _running:
                _run(self)
        return ModuleType.__getattribute__(self, name)


def _run(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None
    assert spec.loader is not None
    _running.add(spec.name)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # As a failed import does it: the next one starts afresh, and nobody meets half a module.
        sys.modules.pop(spec.name, None)
        raise
    finally:
        _running.discard(spec.name)
    module.__class__ = ModuleType


def defer(names: Iterable[str]) -> None:
    """Put stand-ins for these modules into `sys.modules`; what is loaded or unknown is left alone."""
    for name in names:
        if name in sys.modules:
            continue
        spec = PathFinder.find_spec(name)
        if spec is None or spec.loader is None:
            continue
        # As importlib.util.module_from_spec does it, whose import would cost more than a stand-in saves.
        module = DeferredModule(name)
        module.__spec__ = spec
        module.__loader__ = spec.loader
        module.__package__ = spec.parent
        module.__file__ = spec.origin
        sys.modules[name] = module
