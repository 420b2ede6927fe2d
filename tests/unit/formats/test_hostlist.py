from __future__ import annotations

import copy
import tracemalloc

import pytest

from fluxlike.errors import InvalidRequest, NotFound
from fluxlike.hostlist import MAX_HOSTS, Hostlist

VECTORS = [
    ("", ""),
    ("foox,fooy,fooz", "foox,fooy,fooz"),
    ("[1-3,5-6]", "1,2,3,5,6"),
    ("foo[1-5]", "foo1,foo2,foo3,foo4,foo5"),
    ("foo[0-4]-eth2", "foo0-eth2,foo1-eth2,foo2-eth2,foo3-eth2,foo4-eth2"),
    ("foo1,foo1,foo1", "foo1,foo1,foo1"),
    ("[00-02]", "00,01,02"),
    ("[00-2]", "00,01,02"),
    ("foo[1,1,2,1]", "foo1,foo1,foo2,foo1"),
    ("n[005,4,11-13]", "n005,n004,n011,n012,n013"),
    ("n[098-101]", "n098,n099,n100,n101"),
    ("n[1,02]", "n1,n02"),
    ("z0[3-4,12]", "z03,z04,z012"),
    (",a,,b[1-2],", "a,b1,b2"),
    ("a-1.x[3]y-2", "a-1.x3y-2"),
]


@pytest.mark.parametrize(("text", "names"), VECTORS)
def test_text_expands_to_these_names(text: str, names: str) -> None:
    assert ",".join(Hostlist.parse(text)) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("login", "login"),
        ("node0", "node0"),
        ("node0,node1,node2,node3,node7", "node[0-3,7]"),
        ("node5,login,node6,node7", "node5,login,node[6-7]"),
        ("gpu8,gpu3,gpu4,cpu1,cpu2", "gpu[8,3-4],cpu[1-2]"),
        ("0,1,2,6", "[0-2,6]"),
        ("rack-2b-8,rack-2b-9", "rack-2b-[8-9]"),
        ("n08,n09,n10,n11", "n[08-11]"),
        ("n8,n9,n10", "n[8-10]"),
        ("n9,n09", "n9,n09"),
        ("n09,n9", "n09,n9"),
        ("n0,n00,n000", "n0,n00,n000"),
        ("foo0-eth2,foo1-eth2,foo3-eth2", "foo[0-1,3]-eth2"),
        ("a1b1,a1b2,a2b2", "a1b[1-2],a2b2"),
        ("x,x,x", "x,x,x"),
        ("vm1,vm1,vm1", "vm[1,1,1]"),
        ("r1n1,r1n1,r1n2", "r1n[1,1-2]"),
        ("n3,n2,n1", "n[3,2,1]"),
        ("pod-0.svc.local,pod-1.svc.local", "pod-[0-1].svc.local"),
        ("s1234567890123456789,s1234567890123456790", "s1234567890123456789,s1234567890123456790"),
    ],
)
def test_names_compress_to_this_text(names: str, text: str) -> None:
    hosts = Hostlist.of(names.split(",") if names else [])
    assert str(hosts) == text
    assert Hostlist.parse(text) == hosts


@pytest.mark.parametrize(
    "text",
    [
        "[]", "n[]", "n[", "n[4", "n[4,6", "n[4,m[6]", "n[[4]]",
        "n]", "n4]", "n[a]", "n[4-b]", "n[4--6]", "n[6-4]", "n[4-]",
        "n[-4]", "n[4,]", "n[,4]", "n[4]m[6]", "n[4]m[6,8]", "a b",
        "nöde1", "a\tb", "a\n", "n[²]", "n[1_0]", "n[ 4]",
    ],
)  # fmt: skip
def test_malformed_text_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        Hostlist.parse(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "n[0-99999999999]",
        f"n[0-{MAX_HOSTS}]",
        f"a,n[1-{MAX_HOSTS}]",
        "n[0-999999999999999999]",
        ",".join(["n[0-1000000]"] * 2),
    ],
)
def test_too_many_hosts_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="more than 1048576 hosts"):
        Hostlist.parse(text)


def test_a_long_prefix_times_many_ids_is_refused_before_it_costs_memory() -> None:
    text = "x" * 300 + "[0-999999]"
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRequest, match="longer than 255"):
            Hostlist.parse(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["", "a,b", "a[1]", "a b", "x" * 256])
def test_names_that_could_not_be_written_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="invalid host name"):
        Hostlist.of([name])


def test_index_is_the_first_position_and_positions_give_names() -> None:
    hosts = Hostlist.parse("n[1,1,2],login")
    assert hosts.index("n1") == 0
    assert hosts.index("login") == 3
    assert hosts[2] == "n2"
    assert len(hosts) == 4
    assert "n2" in hosts
    assert "n02" not in hosts


def test_index_of_an_unknown_host_names_it() -> None:
    with pytest.raises(NotFound, match="'n9'"):
        Hostlist.parse("n[0-3]").index("n9")


def test_lists_are_values() -> None:
    hosts = Hostlist.parse("n[0-1]")
    assert hosts == Hostlist.of(["n0", "n1"])
    assert hash(hosts) == hash(Hostlist.of(["n0", "n1"]))
    assert hosts != ("n0", "n1")
    assert copy.deepcopy(hosts) == hosts
    assert str(hosts + Hostlist.parse("n2")) == "n[0-2]"
    assert repr(hosts) == "Hostlist.parse('n[0-1]')"
    with pytest.raises(AttributeError):
        hosts.names = ()
