from __future__ import annotations

import copy
from typing import Any

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.idset import Idset
from fluxlike.resource.rset import RSet


def document(**execution: Any) -> dict[str, Any]:
    """Four nodes of four cores, two of them with two gpus; keyword arguments replace parts of `execution`."""
    whole: dict[str, Any] = {
        "R_lite": [
            {"rank": "0-1", "children": {"core": "0-3"}},
            {"rank": "2-3", "children": {"core": "0-3", "gpu": "0-1"}},
        ],
        "nodelist": ["node[0-2]", "big"],
        "properties": {"fast": "1-2", "+batch": "0"},
        "starttime": 0.0,
        "expiration": 0.0,
    }
    return {"version": 1, "execution": {**whole, **execution}}


def rset(ranks: dict[int, tuple[int, int]], **fields: Any) -> RSet:
    return RSet(ranks, {rank: f"node{rank}" for rank in ranks}, **fields)


def test_document_is_read_into_masks_hosts_and_properties() -> None:
    r = RSet.from_json(document(nslots=4, starttime=10, expiration=20.5))
    assert r.ranks == {0: (15, 0), 1: (15, 0), 2: (15, 3), 3: (15, 3)}
    assert r.hosts == {0: "node0", 1: "node1", 2: "node2", 3: "big"}
    assert r.properties == {"fast": Idset.parse("1-2"), "+batch": Idset.parse("0")}
    assert (r.nslots, r.starttime, r.expiration, r.scheduling) == (4, 10.0, 20.5, None)
    assert (r.nnodes, r.ncores, r.ngpus) == (4, 16, 4)
    assert r.rank_idset == Idset.parse("0-3")
    assert str(r.nodelist) == "node[0-2],big"


def test_entries_in_any_order_take_hosts_by_rank() -> None:
    entries = [{"rank": "5", "children": {"core": "0"}}, {"rank": "2", "children": {"core": "0"}}]
    r = RSet.from_json(document(R_lite=entries, nodelist=["a", "b"], properties={}))
    assert r.hosts == {2: "a", 5: "b"}


def test_a_rank_in_two_entries_has_the_resources_of_both() -> None:
    entries = [{"rank": "0", "children": {"core": "0"}}, {"rank": "0", "children": {"core": "2", "gpu": "1"}}]
    r = RSet.from_json(document(R_lite=entries, nodelist=["a"], properties={}))
    assert r.ranks == {0: (0b101, 0b10)}


def test_written_document_groups_ranks_with_equal_children() -> None:
    r = rset({3: (15, 0), 0: (15, 0), 1: (3, 1), 2: (15, 0)}, nslots=2, properties={"fast": Idset.parse("1")})
    assert r.to_json() == {
        "version": 1,
        "execution": {
            "R_lite": [
                {"rank": "0,2-3", "children": {"core": "0-3"}},
                {"rank": "1", "children": {"core": "0-1", "gpu": "0"}},
            ],
            "nodelist": ["node[0-3]"],
            "nslots": 2,
            "properties": {"fast": "1"},
            "starttime": 0.0,
            "expiration": 0.0,
        },
    }


def test_what_was_read_is_written_again() -> None:
    source = {
        **document(nslots=4, starttime=1.0, expiration=2.0),
        "scheduling": {"writer": "fluxlike", "x": [1]},
    }
    r = RSet.from_json(source)
    assert RSet.from_json(r.to_json()) == r
    assert r.to_json()["scheduling"] == source["scheduling"]


def test_the_empty_set_is_written_and_read() -> None:
    empty = RSet({}, {})
    assert not empty
    assert empty.to_json()["execution"]["nodelist"] == []
    assert RSet.from_json(empty.to_json()) == empty


def test_a_rank_with_gpus_alone_is_written_with_an_empty_core_set() -> None:
    r = rset({0: (0, 1)})
    assert r.to_json()["execution"]["R_lite"] == [{"rank": "0", "children": {"core": "", "gpu": "0"}}]
    assert RSet.from_json(r.to_json()) == r


@pytest.mark.parametrize(
    ("execution", "path"),
    [
        ({"R_lite": None}, "R.execution.R_lite: missing"),
        ({"R_lite": {}}, "R.execution.R_lite: must be an array, not dict"),
        ({"R_lite": ["x"]}, "R.execution.R_lite[0]: must be an object"),
        ({"R_lite": [{"children": {"core": "0"}}]}, "R.execution.R_lite[0].rank: missing"),
        (
            {"R_lite": [{"rank": 0, "children": {"core": "0"}}]},
            "R.execution.R_lite[0].rank: must be a string",
        ),
        ({"R_lite": [{"rank": "", "children": {"core": "0"}}]}, "R.execution.R_lite[0].rank: names no rank"),
        ({"R_lite": [{"rank": "0"}]}, "R.execution.R_lite[0].children: missing"),
        ({"R_lite": [{"rank": "0", "children": {}}]}, "R.execution.R_lite[0].children.core: missing"),
        ({"R_lite": [{"rank": "0", "children": {"core": ""}}]}, "R.execution.R_lite[0].children: neither"),
        (
            {"R_lite": [{"rank": "0", "children": {"core": "3-1"}}]},
            "R.execution.R_lite[0].children.core: invalid",
        ),
        (
            {"R_lite": [{"rank": "0", "children": {"core": "70000"}}]},
            "R.execution.R_lite[0].children.core: inv",
        ),
        (
            {"R_lite": [{"rank": "0-9999999", "children": {"core": "0"}}]},
            "R.execution.R_lite[0].rank: invalid",
        ),
        (
            {"R_lite": [{"rank": "0", "children": {"core": "0", "memory": "0"}}]},
            "R.execution.R_lite[0].children.memory: unknown resource type",
        ),
        ({"nodelist": None}, "R.execution.nodelist: missing"),
        ({"nodelist": "node[0-3]"}, "R.execution.nodelist: must be an array, not str"),
        ({"nodelist": ["node[0-2]"]}, "R.execution.nodelist: fewer hosts than the 4 ranks"),
        ({"nodelist": ["node[0-9]"]}, "R.execution.nodelist: more hosts than the 4 ranks"),
        ({"nodelist": ["a", 7]}, "R.execution.nodelist[1]: must be a string"),
        ({"nodelist": ["a", "b["]}, "R.execution.nodelist[1]: invalid hostlist 'b['"),
        ({"nodelist": ["n[0-99999999999]"]}, "R.execution.nodelist[0]: invalid hostlist"),
        ({"nslots": 0}, "R.execution.nslots: must be a positive integer"),
        ({"nslots": True}, "R.execution.nslots: must be a positive integer"),
        ({"nslots": 1.5}, "R.execution.nslots: must be a positive integer"),
        ({"properties": ["fast"]}, "R.execution.properties: must be an object"),
        ({"properties": {"fa(st": "0"}}, "R.execution.properties.fa(st: '(' is not allowed"),
        ({"properties": {"": "0"}}, "R.execution.properties.: empty name"),
        ({"properties": {"fast": 0}}, "R.execution.properties.fast: must be a string"),
        ({"properties": {"fast": "0,7"}}, "R.execution.properties.fast: rank 7 is not in R_lite"),
        ({"starttime": "now"}, "R.execution.starttime: must be seconds"),
        ({"starttime": -1}, "R.execution.starttime: must be seconds"),
        ({"starttime": float("nan")}, "R.execution.starttime: must be seconds"),
        ({"expiration": float("inf")}, "R.execution.expiration: must be seconds"),
        ({"expiration": 10**400}, "R.execution.expiration: must be seconds"),
        ({"starttime": 5, "expiration": 5}, "R.execution.expiration: must be later than starttime"),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(execution: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        RSet.from_json(document(**execution))
    assert str(refusal.value).startswith(path)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (None, "R: missing"),
        ([], "R: must be an object, not list"),
        ({}, "R.version: must be 1, not None"),
        ({"version": 2}, "R.version: must be 1, not 2"),
        ({"version": True}, "R.version: must be 1, not True"),
        ({"version": 1}, "R.execution: missing"),
        ({**document(), "scheduling": []}, "R.scheduling: must be an object"),
    ],
)
def test_a_wrong_document_is_refused_by_its_path(source: object, path: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        RSet.from_json(source)
    assert str(refusal.value).startswith(path)


def test_a_property_of_no_rank_is_left_out() -> None:
    assert RSet.from_json(document(properties={"none": ""})).properties == {}


def test_difference_drops_ranks_with_nothing_left_and_their_properties() -> None:
    whole = RSet.from_json(document(nslots=16))
    rest = whole.difference(rset({1: (15, 0), 2: (1, 0)}))
    assert rest.ranks == {0: (15, 0), 2: (14, 3), 3: (15, 3)}
    assert rest.properties == {"fast": Idset.parse("2"), "+batch": Idset.parse("0")}
    assert rest.hosts == {0: "node0", 2: "node2", 3: "big"}
    assert rest.nslots == 0


def test_intersection_keeps_only_what_is_in_both() -> None:
    whole = RSet.from_json(document())
    common = whole.intersection(rset({1: (0b110000, 0), 2: (0b110, 1), 9: (1, 0)}))
    assert common.ranks == {2: (0b110, 1)}
    assert common.properties == {"fast": Idset.parse("2")}


def test_union_joins_children_and_properties() -> None:
    one = rset({0: (1, 0)}, properties={"a": Idset.parse("0")}, expiration=5.0)
    other = rset({0: (2, 1), 4: (1, 0)}, properties={"a": Idset.parse("4"), "b": Idset.parse("0")})
    both = one.union(other)
    assert both.ranks == {0: (3, 1), 4: (1, 0)}
    assert both.hosts == {0: "node0", 4: "node4"}
    assert both.properties == {"a": Idset.parse("0,4"), "b": Idset.parse("0")}
    assert both.expiration == 5.0


def test_union_refuses_a_rank_with_two_hosts() -> None:
    with pytest.raises(InvalidRequest, match="rank 0 is a in one set, b in the other"):
        RSet({0: (1, 0)}, {0: "a"}).union(RSet({0: (2, 0)}, {0: "b"}))


def test_append_refuses_sets_that_overlap() -> None:
    with pytest.raises(InvalidRequest, match="rank 1 has resources in both"):
        rset({0: (1, 0), 1: (1, 0)}).append(rset({0: (2, 0), 1: (3, 0)}))
    assert rset({0: (1, 0)}).append(rset({0: (2, 0)})).ranks == {0: (3, 0)}


def test_scheduling_key_is_kept_by_parts_and_dropped_where_it_would_mislead() -> None:
    one = rset({0: (1, 0)}, scheduling={"graph": 1})
    other = rset({1: (1, 0)}, scheduling={"graph": 2})
    assert one.copy_ranks(Idset.parse("0")).scheduling == {"graph": 1}
    assert one.difference(one).scheduling is None
    assert one.union(other).scheduling is None
    assert one.union(one).scheduling == {"graph": 1}
    assert one.union(rset({1: (1, 0)})).scheduling == {"graph": 1}
    assert rset({1: (1, 0)}).union(one).scheduling == {"graph": 1}


def test_copy_ranks_ignores_ranks_that_are_not_there() -> None:
    part = RSet.from_json(document()).copy_ranks(Idset.parse("2,9"))
    assert part.ranks == {2: (15, 3)}
    assert str(part.nodelist) == "node2"


def test_remap_counts_from_zero_in_rank_order_and_takes_everything_along() -> None:
    r = rset({9: (2, 0), 4: (1, 1)}, properties={"fast": Idset.parse("9")}, nslots=3, scheduling={"x": 1})
    new = r.remap()
    assert new.ranks == {0: (1, 1), 1: (2, 0)}
    assert new.hosts == {0: "node4", 1: "node9"}
    assert new.properties == {"fast": Idset.parse("1")}
    assert (new.nslots, new.scheduling) == (3, {"x": 1})


def test_remap_by_a_given_mapping() -> None:
    assert rset({0: (1, 0), 1: (2, 0)}).remap({0: 1, 1: 0, 7: 9}).ranks == {1: (1, 0), 0: (2, 0)}


def test_remap_refuses_a_mapping_that_loses_or_joins_ranks() -> None:
    r = rset({0: (1, 0), 1: (2, 0)})
    with pytest.raises(InvalidRequest, match="no new rank for 1"):
        r.remap({0: 0})
    with pytest.raises(InvalidRequest, match="two ranks would become one"):
        r.remap({0: 0, 1: 0})


def test_operations_leave_their_operands_alone() -> None:
    one, other = RSet.from_json(document()), rset({0: (1, 0), 2: (2, 1)})
    other.hosts[2] = "node2"
    before = copy.deepcopy((one, other))
    for made in (one.union(other), one.difference(other), one.intersection(other), one.remap()):
        made.ranks.clear()
        made.hosts.clear()
        made.properties.clear()
    assert (one, other) == before


def test_a_set_equals_its_like_and_nothing_else() -> None:
    assert rset({0: (1, 0)}) == rset({0: (1, 0)})
    assert rset({0: (1, 0)}) != rset({0: (1, 0)}, nslots=1)
    assert rset({0: (1, 0)}) != 1
    assert repr(rset({0: (3, 1)})) == "<RSet ranks=0 cores=2 gpus=1>"
