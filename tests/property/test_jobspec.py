"""Whatever comes in: a jobspec that means the same when written and read again, or a refusal with a path."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxlike.errors import InvalidJobspec
from fluxlike.jobspec import dependency
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.count import MAX_COUNT
from fluxlike.jobspec.parse import loads, parse

Document = dict[str, Any]
Place = tuple[str | int, ...]

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
names = words.filter(bool)
variables = names.filter(lambda name: "=" not in name)
durations = st.floats(0, 1e9) | st.integers(0, 10**9)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
freeform = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
job_ids = st.integers(0, 2**64 - 1).map(str)
schemes = st.sampled_from(["after", *sorted(dependency.JOB_SCHEMES)])
dependencies = st.builds(lambda scheme, value: {"scheme": scheme, "value": value}, schemes, job_ids)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@st.composite
def built(draw: st.DrawFn) -> Document:
    """What the command line can ask for."""
    nnodes = draw(st.integers(0, 50))
    return from_command(
        draw(st.builds(lambda head, tail: [head, *tail], names, st.lists(words, max_size=4))),
        ntasks=draw(st.none() | st.integers(max(nnodes, 1), 10_000)),
        nnodes=nnodes,
        cores_per_task=draw(st.integers(1, 1000)),
        gpus_per_task=draw(st.integers(0, 16)),
        exclusive=nnodes > 0 and draw(st.booleans()),
        duration=draw(durations),
        name=draw(words),
        cwd=draw(words),
        environment=draw(st.dictionaries(variables, st.none() | words, max_size=5)),
        queue=draw(words),
        dependencies=draw(st.lists(dependencies, max_size=3)),
        shell_options=draw(st.dictionaries(words, freeform, max_size=3)),
        user=draw(st.dictionaries(words, freeform, max_size=3)),
    )


@st.composite
def ranges(draw: st.DrawFn) -> Document:
    low = draw(st.integers(2, 1000))
    body: Document = {"min": low}
    if draw(st.booleans()):
        body["max"] = draw(st.integers(low, MAX_COUNT))
    if draw(st.booleans()):
        body |= {"operator": draw(st.sampled_from("+*^")), "operand": draw(st.integers(2, 9))}
    return body


numbers = st.integers(1, 1000)
counts = st.one_of(
    numbers,
    ranges(),
    st.sets(numbers, min_size=1, max_size=5).map(lambda found: ",".join(map(str, sorted(found)))),
    numbers.map(lambda low: f"{low}+"),
    st.builds(lambda low, more, step: f"[{low}-{low + more}:{step}]", numbers, numbers, numbers),
)
leaves = st.fixed_dictionaries(
    {"type": st.sampled_from(["core", "gpu", "memory", "socket", "licence"]), "count": counts},
    optional={"unit": words, "exclusive": st.booleans(), "id": words},
)
boxes = st.recursive(
    leaves,
    lambda inner: st.builds(lambda leaf, held: {**leaf, "with": held}, leaves, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=6,
)


@st.composite
def canonical(draw: st.DrawFn) -> Document:
    """RFC 14: one slot per task, each somewhere below some other resources."""
    resources, tasks = [], []
    for index in range(draw(st.integers(1, 3))):
        vertex: Document = {"type": "slot", "count": draw(counts), "label": f"slot {index}"}
        vertex["with"] = draw(st.lists(boxes, min_size=1, max_size=2))
        count = draw(
            st.sampled_from(
                [
                    {"per_slot": 3},
                    {"total": 7},
                    {"per_resource": {"type": vertex["with"][0]["type"], "count": 2}},
                ]
            )
        )
        task: Document = {"command": ["app", draw(words)], "slot": vertex["label"], "count": count}
        if draw(st.booleans()):
            task["attributes"] = {"environment": draw(st.dictionaries(variables, st.none() | words, max_size=2))}
        for outer in draw(st.lists(st.sampled_from(["rack", "node", "socket"]), max_size=3)):
            # Fixed and few, so that the tasks can still be numbered.
            vertex = {"type": outer, "count": draw(st.integers(1, 3)), "with": [vertex]}
        resources.append(vertex)
        tasks.append(task)
    return {"version": 999, "resources": resources, "tasks": tasks, "attributes": {"system": {"duration": 1}}}


def at(document: Any, place: Place) -> Any:
    for step in place:
        document = document[step]
    return document


def path_of(place: Place) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)[1:]


def shape(document: Document) -> list[tuple[Place, bool]]:
    """Every field of a built document with a type of its own, and whether it is required."""
    slot: Place = ("resources", 0)
    found: list[tuple[Place, bool]] = [((key,), True) for key in ("version", "resources", "tasks", "attributes")]
    if document["resources"][0]["type"] == "node":
        found += [((*slot, key), True) for key in ("type", "count", "with")]
        slot = (*slot, "with", 0)
    found += [((*slot, key), True) for key in ("type", "count", "label", "with")]
    for index, _ in enumerate(at(document, slot)["with"]):
        found += [((*slot, "with", index, key), True) for key in ("type", "count")]
    found += [(("tasks", 0, key), True) for key in ("command", "slot", "count")]
    found += [(("tasks", 0, "count", key), False) for key in document["tasks"][0]["count"]]
    found += [(("attributes", "system"), True), (("attributes", "system", "duration"), True)]
    typed = ("cwd", "environment", "queue", "dependencies", "job", "shell")
    found += [(("attributes", "system", key), False) for key in document["attributes"]["system"] if key in typed]
    return found


BROKEN = float("nan")
WRONG: dict[type, list[object]] = {
    int: [None, True, 1.5, 0, -1, 10**30, "", "x", "\ud800", b"1", [], [1], {}, {"x": 1}, object()],
    float: [None, True, -1, -0.5, BROKEN, float("inf"), "1", b"1", [], [1], {}, object()],
    str: [None, True, 1, 1.5, "\0", "a\0", "\ud800", b"x", [], ["x"], {}, object()],
    list: [None, True, 1, "", "\0", b"x", [None], [[]], [1], {}, {"x": 1}, {"x"}, object()],
    dict: [None, True, 1, "", "x", b"x", [], ["x"], {1: "x"}, {"x"}, object()],
}
"""For each type of field, what must not stand there."""


@settings(deadline=None)
@given(built())
def test_everything_the_command_line_builds_parses(document: Document) -> None:
    spec = parse(document)
    assert spec.version == 1
    assert spec.ntasks is not None
    assert list(spec.command) == document["tasks"][0]["command"]
    assert spec.environment == document["attributes"]["system"].get("environment", {})


@settings(deadline=None)
@given(built() | canonical())
def test_written_and_read_again_a_jobspec_is_the_same(document: Document) -> None:
    spec = parse(document)
    written = spec.to_json()
    assert parse(written) == spec
    assert parse(json.loads(json.dumps(written))) == spec
    assert parse(written).to_json() == written


@settings(deadline=None)
@given(built())
def test_json_text_and_document_parse_alike(document: Document) -> None:
    assert loads(json.dumps(document)) == parse(document)


@settings(deadline=None)
@given(built(), st.data())
def test_document_without_a_required_key_is_refused_at_that_key(document: Document, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from([place for place, required in shape(document) if required]))
    mutant = copy.deepcopy(document)
    del at(mutant, place[:-1])[place[-1]]
    with pytest.raises(InvalidJobspec) as caught:
        parse(mutant)
    assert caught.value.path == path_of(place)


@settings(deadline=None)
@given(built(), st.data())
def test_field_of_another_type_is_refused_at_that_field(document: Document, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from([place for place, _ in shape(document)]))
    kind = float if place[-1] == "duration" else type(at(document, place))
    wrong = data.draw(st.sampled_from(WRONG[kind]))
    mutant = copy.deepcopy(document)
    at(mutant, place[:-1])[place[-1]] = wrong
    with pytest.raises(InvalidJobspec) as caught:
        parse(mutant)
    assert caught.value.path
    assert caught.value.path.startswith(path_of(place))


@settings(deadline=None)
@given(built() | canonical(), st.data())
def test_any_json_anywhere_is_parsed_or_refused(document: Document, data: st.DataObject) -> None:
    place: Place = ()
    inner: Any = document
    while isinstance(inner, (dict, list)) and inner and (not place or data.draw(st.booleans())):
        step: str | int = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
        place = (*place, step)
        inner = at(document, place)
    mutant = copy.deepcopy(document)
    at(mutant, place[:-1])[place[-1]] = data.draw(any_json)
    try:
        spec = parse(mutant)
    except InvalidJobspec as error:
        str(error).encode()
    else:
        json.dumps(spec.to_json(), allow_nan=False).encode()
        assert parse(spec.to_json()) == spec


@settings(deadline=None)
@given(any_json)
def test_any_json_at_all_is_parsed_or_refused(document: object) -> None:
    with pytest.raises(InvalidJobspec):
        parse(document)


@settings(deadline=None)
@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidJobspec):
        loads(text)


@settings(deadline=None)
@given(
    schemes,
    job_ids,
    st.dictionaries(variables.filter(lambda key: key not in ("scheme", "value")), words, max_size=3),
)
def test_dependency_survives_its_compact_form(scheme: str, value: str, options: dict[str, str]) -> None:
    entry = dependency.check({"scheme": scheme, "value": value, **options}, "")
    assert dependency.parse(dependency.to_text(entry)) == entry
