from __future__ import annotations

import pytest

from fluxlike.config.bootstrap import expand_hosts, rank_of
from fluxlike.config.settings import BootstrapSettings, HostEntry
from fluxlike.errors import ConfigError


def test_hosts_get_ranks_in_the_order_written() -> None:
    bootstrap = BootstrapSettings(hosts=(HostEntry("lead"), HostEntry("node[2,0-1]"), HostEntry("last")))
    assert [entry.host for entry in expand_hosts(bootstrap)] == ["lead", "node2", "node0", "node1", "last"]


def test_defaults_fill_in_host_and_port() -> None:
    bootstrap = BootstrapSettings(
        default_port=8060,
        default_bind="tcp://eth0:%p",
        default_connect="tcp://%h.svc.cluster.local:%p",
        hosts=(HostEntry("node[0-1]"),),
    )
    assert expand_hosts(bootstrap) == [
        HostEntry("node0", "tcp://eth0:8060", "tcp://node0.svc.cluster.local:8060"),
        HostEntry("node1", "tcp://eth0:8060", "tcp://node1.svc.cluster.local:8060"),
    ]


def test_hosts_alone_are_enough() -> None:
    [entry] = expand_hosts(BootstrapSettings(hosts=(HostEntry("a"),)))
    assert entry == HostEntry("a", "tcp://*:8050", "tcp://a:8050")


def test_an_entry_may_have_its_own_endpoints_with_substitutions() -> None:
    hosts = (HostEntry("n[1-2]", bind="ipc:///run/%h-%p", connect="ipc:///run/%h-%p"),)
    assert expand_hosts(BootstrapSettings(hosts=hosts))[1] == HostEntry(
        "n2", "ipc:///run/n2-8050", "ipc:///run/n2-8050"
    )


def test_two_percent_signs_are_one_and_shield_what_follows() -> None:
    hosts = (HostEntry("a", connect="tcp://fe80::1%%eth0:%p"), HostEntry("b", connect="tcp://%%h:1"))
    entries = expand_hosts(BootstrapSettings(hosts=hosts))
    assert [entry.connect for entry in entries] == ["tcp://fe80::1%eth0:8050", "tcp://%h:1"]


def test_the_rank_is_the_index_of_ones_own_name() -> None:
    entries = expand_hosts(BootstrapSettings(hosts=(HostEntry("node[0-3]"),)))
    assert rank_of("node2", entries) == 2


def test_a_full_name_finds_the_short_one_and_the_other_way_round() -> None:
    entries = expand_hosts(BootstrapSettings(hosts=(HostEntry("a.example.org"), HostEntry("b"))))
    assert rank_of("a", entries) == 0
    assert rank_of("b.example.org", entries) == 1


def test_an_exact_name_wins_over_a_short_one() -> None:
    entries = expand_hosts(BootstrapSettings(hosts=(HostEntry("a.one"), HostEntry("a.two"))))
    assert rank_of("a.two", entries) == 1


def test_a_host_that_is_not_listed_has_no_rank() -> None:
    entries = expand_hosts(BootstrapSettings(hosts=(HostEntry("node[0-3]"),)))
    with pytest.raises(ConfigError, match="this host, node7, is not among the 4 listed"):
        rank_of("node7", entries)


def test_a_host_listed_twice_must_be_told_its_rank() -> None:
    entries = expand_hosts(BootstrapSettings(hosts=(HostEntry("a"), HostEntry("b"), HostEntry("a"))))
    with pytest.raises(ConfigError, match=r"a has ranks \[0, 2\]; say which one with --rank"):
        rank_of("a", entries)
