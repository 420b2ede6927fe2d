"""The hosts of an instance described by a file: reading them, and giving each rank its two endpoints."""

from __future__ import annotations

from collections.abc import Sequence

from fluxlike.config.settings import BootstrapSettings, HostEntry
from fluxlike.errors import ConfigError, InvalidRequest
from fluxlike.hostlist import Hostlist

_TRANSPORTS = ("tcp://", "ipc://")


def parse_hosts(value: object) -> tuple[HostEntry, ...]:
    """The `hosts` array. Raises ConfigError with the path of what is wrong, below `bootstrap`."""
    if not isinstance(value, list):
        raise ConfigError("bootstrap.hosts: must be an array of tables such as { host = 'node[0-3]' }")
    return tuple(_entry(item, f"bootstrap.hosts[{index}]") for index, item in enumerate(value))


def _entry(item: object, path: str) -> HostEntry:
    if not isinstance(item, dict):
        raise ConfigError(f"{path}: must be a table such as {{ host = 'node[0-3]' }}, not {item!r}")
    for name in item:
        if name not in _FIELDS:
            raise ConfigError(f"{path}: unknown key {name!r}; known are {', '.join(_FIELDS)}")
    if "host" not in item:
        raise ConfigError(f"{path}: host is missing")
    for name, value in item.items():
        try:
            _FIELDS[name](value)
        except ValueError as error:
            raise ConfigError(f"{path}.{name}: must be {error}, not {value!r}") from None
    return HostEntry(**item)


def hosts(value: object) -> str:
    """A hostlist that names someone. Raises ValueError that ends the sentence "the value must be"."""
    try:
        if isinstance(value, str) and len(Hostlist.parse(value)):
            return value
    except InvalidRequest as error:
        raise ValueError(f"a hostlist ({error})") from None
    raise ValueError("a hostlist such as node[0-3]")


def endpoint(value: object) -> str:
    """A ZeroMQ endpoint with %h, %p and %% still in it. Raises ValueError as `hosts` does."""
    if not isinstance(value, str) or not value.startswith(_TRANSPORTS):
        raise ValueError(f"an endpoint that starts with {' or '.join(_TRANSPORTS)}")
    for part in value.replace("%%", "").split("%")[1:]:
        if part[:1] not in ("h", "p"):
            # Refused here, where it can be named, rather than by a resolver at the first connect.
            raise ValueError("an endpoint with no other substitution than %h, %p and %%")
    return value


_FIELDS = {"host": hosts, "bind": endpoint, "connect": endpoint}


def expand_hosts(bootstrap: BootstrapSettings) -> list[HostEntry]:
    """One entry per rank, in rank order, with both endpoints filled in. A host named twice has two ranks."""
    return [
        HostEntry(
            host,
            _fill(entry.bind or bootstrap.default_bind, host, bootstrap.default_port),
            _fill(entry.connect or bootstrap.default_connect, host, bootstrap.default_port),
        )
        for entry in bootstrap.hosts
        for host in Hostlist.parse(entry.host)
    ]


def _fill(template: str, host: str, port: int) -> str:
    # Percent signs first: a host's name is never searched for substitutions.
    parts = template.split("%%")
    return "%".join(part.replace("%p", str(port)).replace("%h", host) for part in parts)


def rank_of(hostname: str, entries: Sequence[HostEntry]) -> int:
    """The rank of a broker that was not told: the index of its own name, full or up to the first dot."""
    ranks = [rank for rank, entry in enumerate(entries) if entry.host == hostname]
    if not ranks:
        short = hostname.partition(".")[0]
        ranks = [rank for rank, entry in enumerate(entries) if entry.host.partition(".")[0] == short]
    if len(ranks) == 1:
        return ranks[0]
    if ranks:
        raise ConfigError(f"bootstrap.hosts: {hostname} has ranks {ranks}; say which one with --rank")
    raise ConfigError(f"bootstrap.hosts: this host, {hostname}, is not among the {len(entries)} listed")
