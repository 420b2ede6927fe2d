"""How jobs are cut into messages."""

from __future__ import annotations

from typing import Any

import pytest

from fluxlike.client import submission
from fluxlike.errors import InvalidRequest, ProtocolError
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.parse import parse
from fluxlike.protocol.jobs import Submit, SubmitArray, Submitted


def batches(jobspecs: list[dict[str, Any]], **more: Any) -> list[Submit]:
    return list(submission.submit_batches(jobspecs, 16, ["debug"], **more))


def test_equal_jobspecs_travel_once() -> None:
    (batch,) = batches([{"a": 1}, {"b": 2}, {"a": 1}, {"b": 2}])
    assert batch == Submit(
        specs=[{"a": 1}, {"b": 2}], jobs=[[0, None], [1, None], [0, None], [1, None]], flags=["debug"]
    )


def test_a_jobspec_that_comes_again_is_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[object] = []

    def count(topic: str, body: object) -> bytes:
        packed.append(body)
        return b"x"

    monkeypatch.setattr(submission, "pack", count)
    batches([{"a": 1}] * 50)
    assert len(packed) == 1


def test_jobspecs_made_on_the_way_are_told_apart() -> None:
    """Objects that are gone leave their identity to the next."""
    (batch,) = submission.submit_batches(({"n": n} for n in range(500)), 16, ())
    assert batch.specs == [{"n": n} for n in range(500)]


def test_parsed_jobspecs_made_on_the_way_are_told_apart() -> None:
    documents = [from_command(["echo", str(n)]) for n in range(100)]
    (batch,) = submission.submit_batches((parse(document) for document in documents), 16, ())
    assert [batch.specs[row[0]]["tasks"][0]["command"][1] for row in batch.jobs] == [str(n) for n in range(100)]


def test_nothing_to_submit_is_no_message() -> None:
    assert batches([]) == []


def test_many_jobs_are_split_by_number_and_keep_their_order() -> None:
    specs = [{"n": n} for n in range(2 * submission.BATCH_JOBS + 1)]
    result = batches(specs)
    assert [len(batch.jobs) for batch in result] == [submission.BATCH_JOBS, submission.BATCH_JOBS, 1]
    assert [batch.specs[row[0]] for batch in result for row in batch.jobs] == specs


def test_large_jobspecs_are_split_by_size() -> None:
    large = "x" * (submission.BATCH_BYTES // 2 - 100)
    result = batches([{"n": n, "env": large} for n in range(5)])
    assert [len(batch.jobs) for batch in result] == [2, 2, 1]


def test_one_jobspec_over_the_size_goes_alone() -> None:
    result = batches([{"env": "x" * (submission.BATCH_BYTES + 1)}, {"a": 1}])
    assert [len(batch.jobs) for batch in result] == [1, 1]


def test_repeating_a_large_jobspec_costs_no_size() -> None:
    large = {"env": "x" * (submission.BATCH_BYTES - 1000)}
    assert len(batches([large] * 50)) == 1


def test_jobspec_that_cannot_travel_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"job\.submit: the request holds a value"):
        batches([{"a": object()}])


def test_template_is_sent_with_each_value() -> None:
    values = [str(n) for n in range(submission.BATCH_JOBS + 2)]
    result = list(submission.template_batches({"a": 1}, values, 20, ()))
    assert [row[1] for batch in result for row in batch.jobs] == values
    assert all(batch.specs == [{"a": 1}] and batch.urgency == 20 for batch in result)
    assert [len(batch.jobs) for batch in result] == [submission.BATCH_JOBS, 2]


def test_large_values_are_split_by_size() -> None:
    value = "x" * (submission.BATCH_BYTES // 2 - 100)
    result = list(submission.template_batches({"a": 1}, [value] * 3, 16, ()))
    assert [len(batch.jobs) for batch in result] == [2, 1]


def test_each_message_has_a_key_of_its_own_and_a_repeat_the_same() -> None:
    specs = [{"n": n} for n in range(2 * submission.BATCH_JOBS + 1)]
    assert [batch.key for batch in batches(specs, key="run 7")] == ["run 7", "run 7/1", "run 7/2"]
    assert batches(specs, key="run 7") == batches(specs, key="run 7")
    assert {batch.key for batch in batches(specs)} == {""}


def test_dependencies_travel_as_indexes_in_one_message() -> None:
    count = submission.BATCH_JOBS + 1
    (batch,) = batches([{"a": 1}] * count, dependencies={1: [("afterok", 0)], 3: [("afterany", 1), ("after", 2)]})
    assert batch.jobs[:4] == [
        [0, None],
        [0, None, [["afterok", 0]]],
        [0, None],
        [0, None, [["afterany", 1], ["after", 2]]],
    ]
    assert len(batch.jobs) == count


@pytest.mark.parametrize("on", [1, 2, -1])
def test_a_job_depends_only_on_earlier_ones(on: int) -> None:
    with pytest.raises(InvalidRequest, match=f"job 1 can only depend on jobs 0 to 0, not on {on}"):
        batches([{"a": 1}] * 3, dependencies={1: [("afterok", on)]})


def test_dependencies_of_a_job_that_is_not_there_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="there is no job 2 among the 2 submitted"):
        batches([{"a": 1}] * 2, dependencies={2: [("afterok", 0)]})


def test_linked_jobs_that_fill_more_than_a_message_are_refused_with_the_way_out() -> None:
    large = [{"n": n, "env": "x" * (submission.LINKED_BYTES // 2)} for n in range(3)]
    with pytest.raises(InvalidRequest, match="1 of these 3 fill its 48 MiB: submit them in parts"):
        batches(large, dependencies={2: [("afterok", 0)]})


def array(**given: Any) -> SubmitArray:
    usual = {"count": None, "values": None, "max_running": 0, "max_fails": -1, "urgency": 16, "flags": (), "key": ""}
    return submission.array({"a": 1}, **{**usual, **given})


def test_array_has_as_many_tasks_as_values() -> None:
    assert array(values=["x", "y"], key="k") == SubmitArray(spec={"a": 1}, count=2, values=["x", "y"], key="k")
    assert array(count=10, max_running=3) == SubmitArray(spec={"a": 1}, count=10, max_running=3)


def test_array_without_size_or_with_two_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="needs a count, or a value"):
        array()
    with pytest.raises(InvalidRequest, match="3 tasks cannot have 2 values"):
        array(count=3, values=["x", "y"])


def test_one_submit_expects_one_id() -> None:
    assert submission.only_id(Submitted(ids=[5])) == 5
    with pytest.raises(ProtocolError, match="0 ids came back"):
        submission.only_id(Submitted(ids=[]))
