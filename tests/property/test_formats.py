"""Formats against slow, obvious twins: texts round-trip, set operations agree with Python's sets."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxlike.duration import UNITS, format_duration, parse_duration
from fluxlike.errors import InvalidRequest
from fluxlike.hostlist import Hostlist
from fluxlike.ids import EPOCH, MAX_GENERATOR, MAX_ID, FluidGenerator, decode, encode, following, nth_after, tick_of
from fluxlike.idset import Idset, mask_text, parse_mask
from fluxlike.resource.rset import RSet

id_sets = st.one_of(st.sets(st.integers(0, 80)), st.sets(st.integers(0, 5000), max_size=300))
noise = st.text(st.sampled_from("0123456789,-[]fƒx. ab"), max_size=20) | st.text(max_size=10)

Triple = tuple[int, str, int]
triples = st.sets(st.tuples(st.integers(0, 5), st.sampled_from(["core", "gpu"]), st.integers(0, 6)))
property_sets = st.dictionaries(st.sampled_from(["fast", "+batch", "amd@gpu"]), st.sets(st.integers(0, 5)))


# Idsets


@given(id_sets)
def test_idset_text_round_trips(ids: set[int]) -> None:
    idset = Idset.of(ids)
    assert Idset.parse(str(idset)) == Idset.parse(f"[{idset}]") == idset
    assert mask_text(parse_mask(str(idset))) == str(idset)
    assert idset.mask == sum(1 << item for item in ids)


@given(id_sets)
def test_idset_reads_an_uncompressed_list(ids: set[int]) -> None:
    assert Idset.parse(",".join(map(str, sorted(ids)))) == Idset.of(ids)


@given(id_sets, id_sets, st.integers(-5, 100))
def test_idset_operations_agree_with_sets(one: set[int], other: set[int], probe: int) -> None:
    a, b = Idset.of(one), Idset.of(other)
    assert list(a) == sorted(one)
    assert set(a | b) == one | other
    assert set(a & b) == one & other
    assert set(a - b) == one - other
    assert (a <= b) == (one <= other)
    assert a.isdisjoint(b) == one.isdisjoint(other)
    assert (a == b) == (one == other)
    assert (probe in a) == (probe in one)
    assert len(a) == a.count == len(one)
    assert bool(a) == bool(one)
    if one:
        assert (a.first(), a.last()) == (min(one), max(one))


@given(noise)
def test_any_text_is_an_idset_or_refused(text: str) -> None:
    try:
        idset = Idset.parse(text)
    except InvalidRequest:
        return
    assert Idset.parse(str(idset)) == idset


# Hostlists


@st.composite
def host_names(draw: st.DrawFn) -> list[str]:
    """Names with few distinct prefixes and suffixes, so that neighbours often fold, padded or not."""
    name = st.builds(
        lambda prefix, number, width, suffix: f"{prefix}{number:0{width}d}{suffix}",
        st.sampled_from(["n", "r1n", "", "a-", "r01-"]),
        st.integers(0, 12) | st.sampled_from([98, 99, 100, 999, 1000]),
        st.integers(0, 3),
        st.sampled_from(["", "", "-eth0", ".local", "x2"]),
    )
    return draw(st.lists(name | st.sampled_from(["login", "x", "0", "00", "node" + "9" * 20]), max_size=25))


@given(host_names())
def test_hostlist_compresses_and_expands_to_the_same_names(names: list[str]) -> None:
    hosts = Hostlist.of(names)
    assert list(hosts) == names
    assert list(Hostlist.parse(str(hosts))) == names
    assert list(Hostlist.parse(",".join(names))) == names


@given(st.text("ab-.", max_size=4), st.integers(0, 2000), st.integers(1, 60), st.integers(0, 5))
def test_a_run_of_hosts_folds_into_one_bracket(prefix: str, first: int, count: int, width: int) -> None:
    names = [f"{prefix}{number:0{width}d}" for number in range(first, first + count)]
    text = str(Hostlist.of(names))
    padded = f"{prefix}[{first:0{width}d}-{first + count - 1:0{width}d}]"
    assert text == (padded if count > 1 else names[0])
    assert list(Hostlist.parse(padded)) == names


@given(noise)
def test_any_text_is_a_hostlist_or_refused(text: str) -> None:
    try:
        hosts = Hostlist.parse(text)
    except InvalidRequest:
        return
    assert Hostlist.parse(str(hosts)) == hosts


# Durations


@given(st.floats(0, 1e12))
def test_duration_text_round_trips_to_six_digits(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-5, abs=1e-300)


@given(st.floats(0, 1e12), st.sampled_from(sorted(UNITS)))
def test_a_unit_behind_a_number_and_as_default_mean_the_same(number: float, unit: str) -> None:
    assert parse_duration(f"{number!r}{unit}") == parse_duration(repr(number), unit) == number * UNITS[unit]


@given(noise | st.text(st.sampled_from("0123456789.e+-msdhinfx"), max_size=8))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        assert parse_duration(text) >= 0
    except InvalidRequest as refusal:
        assert "invalid duration" in str(refusal)  # noqa: PT017  either outcome is right, and checked


# Job ids


@given(st.integers(0, MAX_ID), st.sampled_from(["f58", "f58plain", "dec", "hex", "dothex"]))
def test_an_id_round_trips_in_every_encoding(job_id: int, kind: str) -> None:
    assert decode(encode(job_id, kind)) == job_id


@given(st.integers(0, MAX_ID))
def test_f58_agrees_with_a_plain_base58(job_id: int) -> None:
    digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    text = encode(job_id, "f58")
    assert text[0] == "ƒ"
    assert sum(digits.index(letter) * 58**place for place, letter in enumerate(reversed(text[1:]))) == job_id
    assert text[1:2] != "1" or job_id == 0


@given(noise)
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        assert 0 <= decode(text) <= MAX_ID
    except InvalidRequest as refusal:
        assert "invalid job id" in str(refusal)  # noqa: PT017  either outcome is right, and checked


@given(
    st.lists(st.tuples(st.integers(-5000, 5000), st.integers(0, 3000)), max_size=12),
    st.integers(0, MAX_GENERATOR),
)
def test_ids_only_grow_however_the_clock_steps_and_however_many_are_taken(
    steps: list[tuple[int, int]], generator: int
) -> None:
    now = EPOCH + 10_000
    ids = FluidGenerator(lambda: now, generator)
    made: list[int] = []
    for step, count in steps:
        now += step
        made.append(ids.next())
        made.extend(ids.next_many(count))
    assert all(before < after for before, after in pairwise(made))
    assert {job_id >> 10 & MAX_GENERATOR for job_id in made} <= {generator}
    assert all(0 <= job_id <= MAX_ID for job_id in made)


@given(st.integers(0, MAX_GENERATOR), st.integers(0, MAX_GENERATOR), st.integers(-5000, 5000))
def test_two_generators_never_make_the_same_id(one: int, other: int, drift: int) -> None:
    first = FluidGenerator(lambda: EPOCH + 6000, one).next_many(1100)
    second = FluidGenerator(lambda: EPOCH + 6000 + drift, other).next_many(1100)
    if one != other:
        assert not set(first) & set(second)


@given(st.integers(0, MAX_GENERATOR), st.integers(0, 1500), st.integers(1, 1500), st.integers(0, 3000))
def test_ids_that_were_taken_together_follow_from_the_first(
    generator: int, before: int, count: int, reserve: int
) -> None:
    ids = FluidGenerator(lambda: EPOCH + 6000, generator)
    ids.next_many(before)
    taken = ids.next_many(count, reserve)
    first = taken[0]
    assert following(first, count) == taken
    assert [nth_after(first, distance) for distance in range(count)] == taken
    assert [tick_of(job_id) - tick_of(first) for job_id in taken] == list(range(count))
    assert ids.next() == nth_after(first, count + reserve)


# Resource sets


def rset_of(parts: set[Triple], properties: dict[str, set[int]] | None = None) -> RSet:
    ranks: dict[int, tuple[int, int]] = {}
    for rank, kind, item in parts:
        cores, gpus = ranks.get(rank, (0, 0))
        ranks[rank] = (cores | 1 << item, gpus) if kind == "core" else (cores, gpus | 1 << item)
    named = {name: Idset.of(members & ranks.keys()) for name, members in (properties or {}).items()}
    return RSet(
        ranks,
        {rank: f"node{rank}" for rank in ranks},
        properties={name: members for name, members in named.items() if members},
    )


def triples_of(r: RSet) -> set[Triple]:
    parts: set[Triple] = set()
    for rank, (cores, gpus) in r.ranks.items():
        parts |= {(rank, "core", item) for item in Idset.from_mask(cores)}
        parts |= {(rank, "gpu", item) for item in Idset.from_mask(gpus)}
    return parts


def assert_sound(r: RSet) -> None:
    """What every set promises: no empty rank, a host for each, properties of these ranks alone."""
    assert all(cores or gpus for cores, gpus in r.ranks.values())
    assert r.hosts.keys() == r.ranks.keys()
    assert all(members and members <= r.rank_idset for members in r.properties.values())


@given(triples, property_sets)
def test_rset_round_trips_through_json(parts: set[Triple], properties: dict[str, set[int]]) -> None:
    r = rset_of(parts, properties)
    assert RSet.from_json(json.loads(json.dumps(r.to_json()))) == r


@given(triples, property_sets)
def test_written_entries_hold_each_rank_once_and_no_two_have_equal_children(
    parts: set[Triple], properties: dict[str, set[int]]
) -> None:
    entries = rset_of(parts, properties).to_json()["execution"]["R_lite"]
    ranks = [rank for entry in entries for rank in Idset.parse(entry["rank"])]
    assert sorted(ranks) == sorted({rank for rank, _, _ in parts})
    children = [json.dumps(entry["children"]) for entry in entries]
    assert len(set(children)) == len(children)


@given(triples, triples, property_sets, property_sets)
def test_rset_operations_agree_with_sets_of_triples(
    one: set[Triple], other: set[Triple], mine: dict[str, set[int]], theirs: dict[str, set[int]]
) -> None:
    a, b = rset_of(one, mine), rset_of(other, theirs)
    for made, expected in (
        (a.union(b), one | other),
        (a.difference(b), one - other),
        (a.intersection(b), one & other),
    ):
        assert triples_of(made) == expected
        assert_sound(made)
    if one & other:
        with pytest.raises(InvalidRequest):
            a.append(b)
    else:
        assert a.append(b) == a.union(b)


@given(triples, st.sets(st.integers(0, 8)), property_sets)
def test_copy_ranks_agrees_with_a_filter(parts: set[Triple], chosen: set[int], properties: dict[str, set[int]]) -> None:
    made = rset_of(parts, properties).copy_ranks(Idset.of(chosen))
    assert triples_of(made) == {triple for triple in parts if triple[0] in chosen}
    assert_sound(made)


@given(triples, property_sets, st.permutations(range(6)))
def test_remap_and_back_is_the_same_set(parts: set[Triple], properties: dict[str, set[int]], order: list[int]) -> None:
    r = rset_of(parts, properties)
    there = dict(enumerate(order))
    back = {new: old for old, new in there.items()}
    made = r.remap(there)
    assert triples_of(made) == {(there[rank], kind, item) for rank, kind, item in parts}
    assert_sound(made)
    assert made.remap(back) == r


@given(triples)
def test_remap_without_a_mapping_counts_ranks_from_zero(parts: set[Triple]) -> None:
    r = rset_of(parts)
    made = r.remap()
    assert sorted(made.ranks) == list(range(r.nnodes))
    assert made.nodelist == r.nodelist


@given(triples)
def test_rset_counts_agree_with_counting(parts: set[Triple]) -> None:
    r = rset_of(parts)
    assert r.ncores == len([kind for _, kind, _ in parts if kind == "core"])
    assert r.ngpus == len([kind for _, kind, _ in parts if kind == "gpu"])
    assert r.nnodes == len(r.rank_idset) == len(r.nodelist) == len({rank for rank, _, _ in parts})
