from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxlike.errors import InvalidJobspec
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.model import Jobspec
from fluxlike.jobspec.parse import MAX_LEVELS, MAX_VERTICES, loads, parse

VALID = Path(__file__).parent / "valid"


def sample(name: str) -> Jobspec:
    return loads((VALID / f"{name}.yaml").read_text())


def refusal(document: object) -> InvalidJobspec:
    with pytest.raises(InvalidJobspec) as caught:
        parse(document)
    return caught.value


def nested(levels: int) -> dict[str, Any]:
    """A canonical request with that many boxes around its slot."""
    spec = from_command(["true"])
    for _ in range(levels):
        spec["resources"] = [{"type": "box", "count": 1, "with": spec["resources"]}]
    return spec


def test_attributes_are_read_where_they_are() -> None:
    spec = sample("v1_all_attributes")
    assert spec.duration == 60.0
    assert spec.cwd == "/home/ada"
    assert spec.environment == {"HOME": "/home/ada", "DISPLAY": None, "EMPTY": ""}
    assert spec.queue == "batch"
    assert spec.name == "lattice"
    assert [entry["scheme"] for entry in spec.dependencies] == ["afterok", "begin-time"]
    assert set(spec.constraints) == {"and"}
    assert spec.shell_options["pty"] is True
    assert spec.system["site-own"] == [1, 2.5, {"three": None}]


def test_attributes_that_are_not_given_have_quiet_defaults() -> None:
    spec = sample("canonical_attributes_are_null")
    assert (spec.duration, spec.cwd, spec.environment, spec.queue) == (0.0, "", {}, "")
    assert (spec.dependencies, spec.constraints, spec.shell_options) == ([], {}, {})


@pytest.mark.parametrize(
    ("program", "name"),
    [("/usr/bin/hostname", "hostname"), ("./run", "run"), ("odd/", "odd/"), ("app", "app")],
)
def test_job_without_a_name_is_called_after_its_program(program: str, name: str) -> None:
    assert parse(from_command([program])).name == name


@pytest.mark.parametrize(
    ("name", "ntasks"),
    [
        ("v1_slot_core", 2),
        ("v1_node_slot_core", 8),
        ("v1_node_slot_core_gpu_uneven_total", 7),
        ("canonical_socket_and_memory", 12),
        ("canonical_two_tasks_two_slots", 17),
        ("canonical_per_resource", 12),
        ("canonical_other_version", 10),
        ("canonical_range_doubling", None),
        ("canonical_count_list", None),
        ("canonical_count_text_number", 4),
    ],
)
def test_number_of_tasks_follows_from_the_counts_unless_a_range_decides(name: str, ntasks: int | None) -> None:
    assert sample(name).ntasks == ntasks


def test_command_given_as_one_text_is_split_as_a_shell_would() -> None:
    assert sample("v1_command_is_one_text").command == ("sleep", "1 0")


def test_old_name_of_a_scheme_is_replaced_and_the_given_document_left_alone() -> None:
    document = from_command(["true"], dependencies=[{"scheme": "after", "value": "f1"}])
    assert parse(document).dependencies == [{"scheme": "afterstart", "value": "f1"}]
    assert document["attributes"]["system"]["dependencies"][0]["scheme"] == "after"


def test_attributes_are_not_copied() -> None:
    document = from_command(["true"], environment={"A": "1"}, dependencies=[{"scheme": "afterok", "value": "f1"}])
    assert parse(document).attributes is document["attributes"]


def test_date_in_yaml_stays_the_text_it_was() -> None:
    assert sample("v1_date_stays_text").environment == {"DAY": "2024-02-30"}


def test_unknown_key_is_refused_naming_the_nearest() -> None:
    document = from_command(["true"])
    document["resources"][0]["lable"] = "x"
    assert "did you mean 'label'?" in str(refusal(document))


def test_number_where_text_belongs_is_refused_with_the_remedy() -> None:
    document = from_command(["sleep", "1"])
    document["tasks"][0]["command"][1] = 1
    assert str(refusal(document)) == "tasks[0].command[1]: must be a string, not 1 (quote it)"


@pytest.mark.parametrize("document", [None, True, 7, 1.5, "text", b"bytes", [], {}, object(), {1: 2}, set()])
def test_what_is_no_jobspec_at_all_is_refused(document: object) -> None:
    refusal(document)


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        b"bytes",
        2**64,
        -(2**63) - 1,
        object(),
        {1, 2},
        pytest.param(10**5000, id="huge"),
        float("nan"),
    ],
)
def test_attribute_that_could_not_be_stored_or_sent_is_refused(value: object) -> None:
    assert refusal(from_command(["true"], user={"deep": [{"value": value}]})).path == "attributes.user.deep[0].value"


def test_environment_that_is_not_unicode_is_refused_naming_the_variable() -> None:
    error = refusal(from_command(["true"], environment={"GOOD": "ü", "BAD": "caf\udce9"}))
    assert error.path == "attributes.system.environment.BAD"
    str(error).encode()


def test_refusal_quotes_only_the_beginning_of_a_long_text() -> None:
    document = from_command(["true"])
    document["tasks"][0]["slot"] = "x" * 1_000_000
    assert len(str(refusal(document))) < 200


def test_levels_are_limited_before_the_stack_is() -> None:
    assert parse(nested(MAX_LEVELS - 2)).ntasks == 1
    assert "too deeply" in str(refusal(nested(MAX_LEVELS - 1)))
    assert "too deeply" in str(refusal(nested(5000)))


def test_request_cannot_hold_more_resources_than_its_limit() -> None:
    document = from_command(["true"])
    document["resources"][0]["with"] = [{"type": "core", "count": 1}] * MAX_VERTICES
    assert refusal(document).path == "resources[0].with"


def test_few_lines_of_aliases_that_stand_for_billions_are_refused() -> None:
    lines = [
        f"    {letter}: &{letter} [{', '.join(['*' + before] * 9)}]"
        for before, letter in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    head = json.dumps(from_command(["true"])["resources"])
    text = "\n".join(
        [
            f"version: 1\nresources: {head}\ntasks: [{{command: [x], slot: task, count: {{per_slot: 1}}}}]",
            "attributes:\n  system: {duration: 0}\n  user:\n    a: &a [1]",
            *lines,
        ]
    )
    with pytest.raises(InvalidJobspec, match="too much"):
        loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "{" + '"a":{' * 100_000,
        '{"version": ' + "9" * 5000 + "}",
        "version: !!bool maybe",
        "version: !!int ''",
        "version: !!timestamp x",
        "version: 0b_",
        "&a [*a]",
        "{*a: 1}",
        "{[1]: 2}",
        "\x00",
        "\ud800",
        "%TAG",
        b"\xff\xfe\x00",
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_text_that_is_no_document_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidJobspec):
        loads(text)


def test_json_error_says_where() -> None:
    with pytest.raises(InvalidJobspec, match="line 2 column"):
        loads('{"version": 1,\n "resources": ]}')


def test_key_given_twice_in_json_is_refused() -> None:
    with pytest.raises(InvalidJobspec, match="'version' is given twice"):
        loads('{"version": 1, "version": 1}')


def test_equal_jobspecs_are_equal_and_have_one_hash() -> None:
    document = from_command(["true"], nnodes=2, dependencies=[{"scheme": "afterok", "value": "f1"}])
    one, other = parse(document), parse(json.loads(json.dumps(document)))
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse(from_command(["false"], nnodes=2))
    assert "Jobspec(" in repr(one)
