from __future__ import annotations

import copy
import pickle

import pytest

from fluxlike.client.results import Event, JobRecord, OutputChunk
from fluxlike.errors import ProtocolError
from fluxlike.testing.records import job_record, pending_record


def test_every_field_of_a_record_is_an_attribute() -> None:
    record = job_record(7, name="lammps", returncode=3)
    job = JobRecord(record)
    assert {name: getattr(job, name) for name in record} == record
    assert (job.id, job.name, job.returncode) == (7, "lammps", 3)


def test_declared_attributes_are_those_that_an_instance_lists() -> None:
    assert JobRecord.__annotations__.keys() == job_record(1).keys()


def test_unknown_attribute_is_named() -> None:
    with pytest.raises(AttributeError, match="the record of a job has no 'colour'"):
        getattr(JobRecord(job_record(1)), "colour")  # noqa: B009  mypy rightly knows no such attribute


def test_field_from_a_newer_broker_is_still_in_the_record() -> None:
    assert JobRecord({**job_record(1), "colour": "red"}).record["colour"] == "red"


def test_success_and_activity_follow_from_state_and_result() -> None:
    done, failed, waiting = (
        JobRecord(job_record(1)),
        JobRecord(job_record(2, result="failed")),
        JobRecord(pending_record(3)),
    )
    assert [job.succeeded for job in (done, failed, waiting)] == [True, False, False]
    assert [job.active for job in (done, failed, waiting)] == [False, False, True]


def test_records_can_be_compared_copied_and_pickled() -> None:
    job = JobRecord(job_record(1))
    assert copy.copy(job) == job == pickle.loads(pickle.dumps(job))
    assert job != JobRecord(job_record(2))
    assert repr(job) == "<JobRecord 1 inactive completed>"


@pytest.mark.parametrize("record", [None, [], {}, {"id": "7"}])
def test_record_without_an_id_is_a_protocol_error(record: object) -> None:
    with pytest.raises(ProtocolError, match="not a record of a job"):
        JobRecord(record)  # type: ignore[arg-type]  # a broken broker's answer


def test_event_without_context_has_an_empty_one() -> None:
    assert Event.from_row([1.5, "submit", None]) == Event(1.5, "submit", {})


@pytest.mark.parametrize("row", [None, [], [1.0, "start"], 7])
def test_rows_of_another_shape_are_protocol_errors(row: object) -> None:
    with pytest.raises(ProtocolError, match="not a row of an eventlog"):
        Event.from_row(row)
    with pytest.raises(ProtocolError, match="not a row of output"):
        OutputChunk.from_row(row)


def test_values_are_equal_by_their_fields() -> None:
    assert Event(1.0, "a", {"x": 1}) == Event(1.0, "a", {"x": 1}) != Event(1.0, "b", {"x": 1})
    assert OutputChunk(0, "stdout", b"x") == OutputChunk(0, "stdout", b"x") != OutputChunk(1, "stdout", b"x")
    assert repr(OutputChunk(0, "stdout", b"x")) == "OutputChunk(0, 'stdout', b'x')"
