"""Who is in the instance and where: the one record that every way of starting must produce."""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import dataclass, field
from typing import TypedDict

import zmq

from fluxlike.config import curve
from fluxlike.config.bootstrap import expand_hosts
from fluxlike.config.settings import OverlaySettings, Settings
from fluxlike.errors import ConfigError
from fluxlike.hostlist import Hostlist
from fluxlike.tree.topology import ancestors_of


@dataclass(frozen=True)
class Bootstrap:
    """Everything a broker must know before it speaks to another."""

    instance: str
    rank: int
    hosts: tuple[str, ...]
    bind: str
    endpoints: dict[int, str]
    """Where each ancestor listens."""
    overlay: OverlaySettings
    public_key: bytes
    secret_key: bytes = field(repr=False)
    ipv6: bool = False
    level: int = 0

    @property
    def size(self) -> int:
        return len(self.hosts)

    @property
    def host(self) -> str:
        return self.hosts[self.rank]

    @property
    def ancestors(self) -> list[int]:
        return ancestors_of(self.rank, self.overlay.fanout)


class Record(TypedDict):
    """What is noted down of an instance, so that a later start finds the same."""

    instance: str
    hosts: list[str]


def local(directory: str, rundir: str, size: int | None, test_hosts: str, settings: Settings) -> list[Bootstrap]:
    """All ranks on this machine, over sockets in `rundir`. What an earlier start noted in `directory` stays."""
    record = _remembered(directory)
    if record is None:
        record = _invented(size or 1, test_hosts)
        _remember(directory, record)
    hosts = tuple(record["hosts"])
    if size is not None and size != len(hosts):
        raise ConfigError(f"this state directory belongs to an instance of {len(hosts)} brokers, not {size}")
    if test_hosts and tuple(Hostlist.parse(test_hosts)) != hosts:
        raise ConfigError(f"this state directory belongs to hosts {Hostlist.of(hosts)}")
    endpoints = {rank: f"ipc://{rundir}/{rank}/tree" for rank in range(len(hosts))}
    public, secret = curve.load(os.path.join(directory, "curve.cert"))
    return [
        Bootstrap(
            instance=record["instance"],
            rank=rank,
            hosts=hosts,
            bind=endpoints[rank],
            endpoints={ancestor: endpoints[ancestor] for ancestor in ancestors_of(rank, settings.overlay.fanout)},
            overlay=settings.overlay,
            public_key=public,
            secret_key=secret,
        )
        for rank in range(len(hosts))
    ]


def _invented(size: int, test_hosts: str) -> Record:
    if size < 1:
        raise ConfigError("an instance has at least one broker")
    name = socket.gethostname()
    hosts = list(Hostlist.parse(test_hosts)) if test_hosts else [f"{name}-{r}" for r in range(size)]
    if size == 1 and not test_hosts:
        hosts = [name]
    if len(hosts) != size:
        raise ConfigError(f"--test-hosts names {len(hosts)} hosts for {size} brokers")
    return {"instance": secrets.token_hex(8), "hosts": hosts}


def _remembered(directory: str) -> Record | None:
    path = os.path.join(directory, "instance.json")
    if not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return {"instance": str(found["instance"]), "hosts": [str(host) for host in found["hosts"]]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path} is damaged: {error}") from error


def _remember(directory: str, record: Record) -> None:
    public, secret = zmq.curve_keypair()
    cert = os.path.join(directory, "curve.cert")
    if not os.path.exists(cert):
        curve.save(cert, public, secret)
    path = os.path.join(directory, "instance.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(path + ".new", path)


def from_config(settings: Settings, rank: int | None) -> Bootstrap:
    """One rank of a static list of hosts; which one is told by `rank` or by this host's name."""
    entries = expand_hosts(settings.bootstrap)
    hosts = tuple(entry.host for entry in entries)
    if not settings.bootstrap.curve_cert:
        raise ConfigError("bootstrap.curve_cert is not set; make one with: fluxlike keygen curve.cert")
    if rank is None:
        name = socket.gethostname()
        candidates = [name, name.partition(".")[0]]
        found = [index for index, host in enumerate(hosts) if host in candidates]
        if not found:
            raise ConfigError(f"this host, {name}, is not in bootstrap.hosts ({Hostlist.of(hosts)}); or use --rank")
        rank = found[0]
    if not 0 <= rank < len(hosts):
        raise ConfigError(f"rank {rank} is not in bootstrap.hosts, which has ranks 0 to {len(hosts) - 1}")
    public, secret = curve.load(settings.bootstrap.curve_cert)
    return Bootstrap(
        instance="config",
        rank=rank,
        hosts=hosts,
        bind=entries[rank].bind,
        endpoints={ancestor: entries[ancestor].connect for ancestor in ancestors_of(rank, settings.overlay.fanout)},
        overlay=settings.overlay,
        public_key=public,
        secret_key=secret,
        ipv6=settings.bootstrap.enable_ipv6,
    )
