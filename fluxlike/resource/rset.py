"""R version 1 (RFC 20): a set of concrete cores and gpus on ranks, as a value and as JSON."""

from __future__ import annotations

from fluxlike.errors import InvalidRequest
from fluxlike.hostlist import Hostlist
from fluxlike.idset import Idset, mask_text, parse_mask

# Not taken from typing: importing it costs more than all of our own modules together.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_RANK = (1 << 20) - 1
MAX_CHILD = (1 << 16) - 1
"""Largest core or gpu id on one rank: far above any machine, too low for a short text to cost megabytes."""

FORBIDDEN_IN_PROPERTY = "!&'\"^`|()"

_END_OF_TIME = 1 << 63


class RSet:
    """A set of (rank, core or gpu, id), with the ranks' host names and properties.

    A value: operations return new sets, and nobody changes the dicts of one they were given. Every rank has
    a host and at least one core or gpu; properties name only these ranks. `nslots`, `starttime` and
    `expiration` are 0 when unset.
    """

    __slots__ = ("expiration", "hosts", "nslots", "properties", "ranks", "scheduling", "starttime")

    def __init__(
        self,
        ranks: dict[int, tuple[int, int]],
        hosts: dict[int, str],
        *,
        properties: dict[str, Idset] | None = None,
        nslots: int = 0,
        starttime: float = 0.0,
        expiration: float = 0.0,
        scheduling: dict[str, Any] | None = None,
    ) -> None:
        self.ranks = ranks
        self.hosts = hosts
        self.properties = properties or {}
        self.nslots = nslots
        self.starttime = starttime
        self.expiration = expiration
        self.scheduling = scheduling

    @classmethod
    def from_json(cls, document: object) -> RSet:
        """The set a decoded JSON document describes; InvalidRequest names the field that is wrong."""
        table = _object(document, "R")
        version = table.get("version")
        if version != 1 or isinstance(version, bool):
            raise _refusal("R.version", f"must be 1, not {version!r}")
        execution = _object(table.get("execution"), "R.execution")
        ranks = _parse_ranks(execution.get("R_lite"))
        starttime = _parse_time(execution, "starttime")
        expiration = _parse_time(execution, "expiration")
        if starttime and expiration and expiration <= starttime:
            raise _refusal("R.execution.expiration", "must be later than starttime")
        scheduling = table.get("scheduling")
        return cls(
            ranks,
            _parse_hosts(execution.get("nodelist"), ranks),
            properties=_parse_properties(execution.get("properties"), ranks),
            nslots=_parse_nslots(execution.get("nslots")),
            starttime=starttime,
            expiration=expiration,
            scheduling=None if scheduling is None else _object(scheduling, "R.scheduling"),
        )

    def to_json(self) -> dict[str, Any]:
        """The document of RFC 20, ordered by rank; ranks with the same cores and gpus share one entry."""
        alike: dict[tuple[int, int], list[int]] = {}
        for rank in sorted(self.ranks):
            alike.setdefault(self.ranks[rank], []).append(rank)
        execution: dict[str, Any] = {
            "R_lite": [
                {"rank": str(Idset.of(ranks)), "children": _children(cores, gpus)}
                for (cores, gpus), ranks in alike.items()
            ],
            "nodelist": [str(self.nodelist)] if self.ranks else [],
        }
        if self.nslots:
            execution["nslots"] = self.nslots
        if self.properties:
            execution["properties"] = {name: str(ranks) for name, ranks in self.properties.items()}
        execution["starttime"] = self.starttime
        execution["expiration"] = self.expiration
        document: dict[str, Any] = {"version": 1, "execution": execution}
        if self.scheduling is not None:
            document["scheduling"] = self.scheduling
        return document

    @property
    def nnodes(self) -> int:
        """How many ranks; several may share a host."""
        return len(self.ranks)

    @property
    def ncores(self) -> int:
        return sum([cores.bit_count() for cores, _ in self.ranks.values()])

    @property
    def ngpus(self) -> int:
        return sum([gpus.bit_count() for _, gpus in self.ranks.values()])

    @property
    def rank_idset(self) -> Idset:
        return Idset.of(self.ranks)

    @property
    def nodelist(self) -> Hostlist:
        """The host of each rank, in rank order."""
        return Hostlist(tuple([self.hosts[rank] for rank in sorted(self.ranks)]))

    def union(self, other: RSet) -> RSet:
        """What is in either. Times are this set's; a rank with two host names is refused."""
        ranks = dict(self.ranks)
        for rank, (cores, gpus) in other.ranks.items():
            my_cores, my_gpus = ranks.get(rank, (0, 0))
            ranks[rank] = (my_cores | cores, my_gpus | gpus)
        properties = dict(self.properties)
        for name, members in other.properties.items():
            properties[name] = properties.get(name, Idset()) | members
        return RSet(
            ranks,
            self._merged_hosts(other),
            properties=properties,
            starttime=self.starttime,
            expiration=self.expiration,
            scheduling=self._merged_scheduling(other),
        )

    def append(self, other: RSet) -> RSet:
        """The union of two sets that must not overlap."""
        common = self.intersection(other)
        if common:
            raise InvalidRequest(f"cannot append R: rank {common.rank_idset} has resources in both sets")
        return self.union(other)

    def difference(self, other: RSet) -> RSet:
        """What is here and not in the other; ranks left with nothing are gone."""
        rest = {}
        for rank, (cores, gpus) in self.ranks.items():
            other_cores, other_gpus = other.ranks.get(rank, (0, 0))
            rest[rank] = (cores & ~other_cores, gpus & ~other_gpus)
        return self._narrowed(rest)

    def intersection(self, other: RSet) -> RSet:
        """What is in both, with this set's host names and properties."""
        common = {}
        for rank, (cores, gpus) in self.ranks.items():
            other_cores, other_gpus = other.ranks.get(rank, (0, 0))
            common[rank] = (cores & other_cores, gpus & other_gpus)
        return self._narrowed(common)

    def copy_ranks(self, ranks: Idset) -> RSet:
        """The part on these ranks; ranks that are not here are ignored."""
        return self._narrowed({rank: children for rank, children in self.ranks.items() if rank in ranks})

    def remap(self, mapping: Mapping[int, int] | None = None) -> RSet:
        """The same resources under new rank numbers: `mapping` old to new, or from 0 up in rank order.

        Core and gpu ids stay what they are on the host. Refuses a mapping that lacks a rank or joins two.
        """
        if mapping is None:
            mapping = {old: new for new, old in enumerate(sorted(self.ranks))}
        missing = [rank for rank in self.ranks if rank not in mapping]
        if missing:
            raise InvalidRequest(f"cannot remap R: no new rank for {Idset.of(missing)}")
        if len({mapping[rank] for rank in self.ranks}) < len(self.ranks):
            raise InvalidRequest("cannot remap R: two ranks would become one")
        return RSet(
            {mapping[rank]: children for rank, children in self.ranks.items()},
            {mapping[rank]: self.hosts[rank] for rank in self.ranks},
            properties={
                name: Idset.of([mapping[rank] for rank in members]) for name, members in self.properties.items()
            },
            nslots=self.nslots,
            starttime=self.starttime,
            expiration=self.expiration,
            scheduling=self.scheduling,
        )

    def _narrowed(self, children: dict[int, tuple[int, int]]) -> RSet:
        """A subset of this set. The number of slots no longer holds."""
        ranks = {rank: (cores, gpus) for rank, (cores, gpus) in children.items() if cores or gpus}
        properties = {}
        if self.properties:
            kept = Idset.of(ranks)
            properties = {name: members & kept for name, members in self.properties.items() if members & kept}
        return RSet(
            ranks,
            {rank: self.hosts[rank] for rank in ranks},
            properties=properties,
            starttime=self.starttime,
            expiration=self.expiration,
            scheduling=self.scheduling if ranks else None,
        )

    def _merged_hosts(self, other: RSet) -> dict[int, str]:
        hosts = dict(self.hosts)
        for rank, host in other.hosts.items():
            if hosts.setdefault(rank, host) != host:
                raise InvalidRequest(f"cannot unite R: rank {rank} is {hosts[rank]} in one set, {host} in the other")
        return hosts

    def _merged_scheduling(self, other: RSet) -> dict[str, Any] | None:
        # The key is opaque: two cannot be merged, and one that speaks of half the resources would mislead.
        if self.scheduling is None or other.scheduling is None:
            return self.scheduling or other.scheduling
        return self.scheduling if self.scheduling == other.scheduling else None

    def __bool__(self) -> bool:
        return bool(self.ranks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RSet):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in RSet.__slots__)

    def __repr__(self) -> str:
        return f"<RSet ranks={self.rank_idset} cores={self.ncores} gpus={self.ngpus}>"


def _children(cores: int, gpus: int) -> dict[str, str]:
    return {"core": mask_text(cores), "gpu": mask_text(gpus)} if gpus else {"core": mask_text(cores)}


def _parse_ranks(value: object) -> dict[int, tuple[int, int]]:
    ranks: dict[int, tuple[int, int]] = {}
    for index, item in enumerate(_array(value, "R.execution.R_lite")):
        path = f"R.execution.R_lite[{index}]"
        entry = _object(item, path)
        children = _parse_children(entry.get("children"), f"{path}.children")
        members = Idset(_mask(entry.get("rank"), f"{path}.rank", MAX_RANK))
        if not members:
            raise _refusal(f"{path}.rank", "names no rank")
        for rank in members:
            cores, gpus = ranks.get(rank, (0, 0))
            ranks[rank] = (cores | children[0], gpus | children[1]) if cores or gpus else children
    return ranks


def _parse_children(value: object, path: str) -> tuple[int, int]:
    table = _object(value, path)
    for kind in table:
        if kind not in ("core", "gpu"):
            # Dropping it in silence would lose resources somebody counts on.
            raise _refusal(f"{path}.{kind}", "unknown resource type, R version 1 has core and gpu")
    cores = _mask(table.get("core"), f"{path}.core", MAX_CHILD)
    gpus = _mask(table.get("gpu", ""), f"{path}.gpu", MAX_CHILD)
    if not cores and not gpus:
        raise _refusal(path, "neither a core nor a gpu")
    return cores, gpus


def _parse_hosts(value: object, ranks: dict[int, tuple[int, int]]) -> dict[int, str]:
    path = "R.execution.nodelist"
    names: list[str] = []
    for index, item in enumerate(_array(value, path)):
        text = _text(item, f"{path}[{index}]")
        try:
            names += Hostlist.parse(text)
        except InvalidRequest as error:
            raise _refusal(f"{path}[{index}]", str(error)) from None
        if len(names) > len(ranks):
            break
    if len(names) != len(ranks):
        more = "more" if len(names) > len(ranks) else "fewer"
        raise _refusal(path, f"{more} hosts than the {len(ranks)} ranks of R_lite")
    return dict(zip(sorted(ranks), names, strict=True))


def _parse_properties(value: object, ranks: dict[int, tuple[int, int]]) -> dict[str, Idset]:
    properties: dict[str, Idset] = {}
    if value is None:
        return properties
    known = Idset.of(ranks)
    for name, text in _object(value, "R.execution.properties").items():
        path = f"R.execution.properties.{name}"
        wrong = [letter for letter in name if letter in FORBIDDEN_IN_PROPERTY]
        if wrong or not name:
            raise _refusal(path, f"{wrong[0]!r} is not allowed in a property name" if wrong else "empty name")
        members = Idset(_mask(text, path, MAX_RANK))
        if members - known:
            raise _refusal(path, f"rank {members - known} is not in R_lite")
        if members:
            properties[name] = members
    return properties


def _parse_nslots(value: object) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _refusal("R.execution.nslots", f"must be a positive integer, not {value!r}")
    return value


def _parse_time(execution: dict[str, Any], key: str) -> float:
    value = execution.get(key, 0.0)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _END_OF_TIME:
        raise _refusal(f"R.execution.{key}", f"must be seconds since 1970, or 0 for unset, not {value!r}")
    return float(value)


def _mask(value: object, path: str, largest: int) -> int:
    text = _text(value, path)
    try:
        return parse_mask(text, largest)
    except InvalidRequest as error:
        raise _refusal(path, str(error)) from None


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise _refusal(path, _instead("a string", value))
    return value


def _array(value: object, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise _refusal(path, _instead("an array", value))
    return value


def _object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refusal(path, _instead("an object", value))
    return value


def _instead(wanted: str, value: object) -> str:
    return "missing" if value is None else f"must be {wanted}, not {type(value).__name__}"


def _refusal(path: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"{path}: {why}")
