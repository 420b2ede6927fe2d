"""What this host offers: cores and gpus as bit masks, numbered from 0 in the order the system counts them.

Only files are read: no external tool is run and no device is opened, since opening a gpu can take seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from fluxlike.config.settings import ResourceSettings
from fluxlike.errors import InvalidRequest
from fluxlike.idset import parse_mask


def discover(
    settings: ResourceSettings,
    *,
    sys: str = "/sys",
    proc: str = "/proc",
    dev: str = "/dev",
    affinity: Iterable[int] | None = None,
) -> tuple[int, int]:
    """(core mask, gpu mask). A number in the settings wins over what is found. The roots are there for tests."""
    cores = settings.cores if settings.cores is not None else count_cores(sys, proc, affinity)
    gpus = settings.gpus if settings.gpus is not None else count_gpus(sys, dev)
    return (1 << cores) - 1, (1 << gpus) - 1


def count_cores(sys: str, proc: str, affinity: Iterable[int] | None = None) -> int:
    """Cores with a cpu this process may run on, but no more than its cgroups give cpu time for; at least 1."""
    allowed = os.sched_getaffinity(0) if affinity is None else set(affinity)
    places = _cgroups(sys, proc)
    cpuset = _cpuset(places)
    within = {cpu for cpu in allowed if cpuset >> cpu & 1}
    # A cpuset that shares nothing with the affinity, or none at all, cannot be this process's.
    cores = sum(1 for _ in _cores(f"{sys}/devices/system/cpu", within or allowed))
    return max(1, min([cores, *_cpu_limits(places)]))


def _cores(root: str, cpus: Iterable[int]) -> Iterator[int]:
    """One cpu of each core. The threads of a core name each other: one file is read per core, not per cpu."""
    if _read(f"{root}/smt/active") == "0":
        yield from cpus
        return
    seen = 0
    for cpu in sorted(cpus):
        if not seen >> cpu & 1:
            seen |= 1 << cpu | _siblings(f"{root}/cpu{cpu}/topology")
            yield cpu


def _siblings(topology: str) -> int:
    """The mask of a core's cpus; empty where the kernel does not tell, which makes every cpu a core."""
    return _mask(_read(f"{topology}/core_cpus_list") or _read(f"{topology}/thread_siblings_list"))


def count_gpus(sys: str, dev: str) -> int:
    return _count_nvidia(dev) + _count_rocm(sys, dev)


def _count_nvidia(dev: str) -> int:
    # A container shows only the devices it was given. Others are called nvidiactl, nvidia-uvm and the like.
    return sum(1 for name in _names(dev) if name.startswith("nvidia") and name[len("nvidia") :].isdecimal())


def _count_rocm(sys: str, dev: str) -> int:
    """Compute nodes with shader units whose device is here: a container's /sys shows the whole host's."""
    nodes = f"{sys}/class/kfd/kfd/topology/nodes"
    found = [_properties(_read(f"{nodes}/{name}/properties")) for name in _names(nodes)]
    render = frozenset(_names(f"{dev}/dri")) if found else frozenset()
    return sum(1 for node in found if node.get("simd_count", "0") != "0" and _render_name(node) in render)


def _render_name(node: dict[str, str]) -> str:
    return f"renderD{node.get('drm_render_minor', '')}"


def _properties(text: str) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _cgroups(sys: str, proc: str) -> list[str]:
    """Directories of this process's cgroups that exist, each before its parents, of version 1 and 2 alike."""
    places: list[str] = []
    for line in _read(f"{proc}/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            roots = ["", "unified"]
        elif {"cpu", "cpuset"} & set(controllers.split(",")):
            roots = [controllers, *controllers.split(",")]
        else:
            continue
        for root in dict.fromkeys(roots):
            places += _with_parents(f"{sys}/fs/cgroup/{root}".rstrip("/"), path)
    return [place for place in dict.fromkeys(places) if os.path.isdir(place)]


def _with_parents(root: str, path: str) -> Iterator[str]:
    """A container may see the host's path but only its own part mounted at the root: what exists is looked at."""
    parts = [part for part in path.split("/") if part]
    if ".." not in parts:  # a path above the namespace's root names nothing here
        for length in range(len(parts), 0, -1):
            yield "/".join([root, *parts[:length]])
    yield root


def _cpuset(places: list[str]) -> int:
    """The mask of the nearest cpuset; 0 if there is none."""
    for place in places:
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            cpus = _mask(_read(f"{place}/{name}"))
            if cpus:
                return cpus
    return 0


def _cpu_limits(places: list[str]) -> Iterator[int]:
    """Whole cores for each limit of cpu time: half a core still needs one to run on."""
    for place in places:
        quota, _, period = _read(f"{place}/cpu.max").partition(" ")
        if not period:
            quota, period = _read(f"{place}/cpu.cfs_quota_us"), _read(f"{place}/cpu.cfs_period_us")
        # "max" and "-1" are no limit, and no digits.
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            yield max(1, -(-int(quota) // int(period)))


def _mask(text: str) -> int:
    try:
        return parse_mask(text)
    except InvalidRequest:
        return 0


def _read(path: str) -> str:
    """Unbuffered: these are dozens of tiny files. One that is missing or refuses to be read says nothing."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, 65536).decode("ascii", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(file)


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
