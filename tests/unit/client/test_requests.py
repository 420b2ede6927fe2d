from __future__ import annotations

from typing import Any

import pytest

from fluxlike.client import requests
from fluxlike.client.requests import EventPoll, OutputPoll
from fluxlike.errors import InvalidRequest, InvalidTransition, NotFound, ProtocolError
from fluxlike.ids import encode_f58
from fluxlike.protocol.jobs import (
    JobEventsReply,
    JobListed,
    JobStdin,
    JobsTouched,
    OutputReadReply,
    Submit,
    Submitted,
)


def batches(jobspecs: list[dict[str, Any]]) -> list[Submit]:
    return list(requests.submit_batches(jobspecs, 16, ["debug"]))


def test_equal_jobspecs_travel_once() -> None:
    (batch,) = batches([{"a": 1}, {"b": 2}, {"a": 1}, {"b": 2}])
    assert batch == Submit(
        specs=[{"a": 1}, {"b": 2}], jobs=[[0, None], [1, None], [0, None], [1, None]], flags=["debug"]
    )


def test_nothing_to_submit_is_no_message() -> None:
    assert batches([]) == []


def test_many_jobs_are_split_by_number_and_keep_their_order() -> None:
    specs = [{"n": n} for n in range(2 * requests.BATCH_JOBS + 1)]
    result = batches(specs)
    assert [len(batch.jobs) for batch in result] == [requests.BATCH_JOBS, requests.BATCH_JOBS, 1]
    assert [batch.specs[row[0]] for batch in result for row in batch.jobs] == specs


def test_large_jobspecs_are_split_by_size() -> None:
    large = "x" * (requests.BATCH_BYTES // 2 - 100)
    result = batches([{"n": n, "env": large} for n in range(5)])
    assert [len(batch.jobs) for batch in result] == [2, 2, 1]


def test_one_jobspec_over_the_size_goes_alone() -> None:
    result = batches([{"env": "x" * (requests.BATCH_BYTES + 1)}, {"a": 1}])
    assert [len(batch.jobs) for batch in result] == [1, 1]


def test_repeating_a_large_jobspec_costs_no_size() -> None:
    large = {"env": "x" * (requests.BATCH_BYTES - 100)}
    assert len(batches([large] * 50)) == 1


def test_jobspec_that_cannot_travel_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"job\.submit: the request holds a value"):
        batches([{"a": object()}])


def test_template_is_sent_with_each_value() -> None:
    values = [str(n) for n in range(requests.BATCH_JOBS + 2)]
    result = list(requests.template_batches({"a": 1}, values, 20, ()))
    assert [row[1] for batch in result for row in batch.jobs] == values
    assert all(batch.specs == [{"a": 1}] and batch.urgency == 20 for batch in result)
    assert [len(batch.jobs) for batch in result] == [requests.BATCH_JOBS, 2]


def test_one_submit_expects_one_id() -> None:
    assert requests.only_id(Submitted(ids=[5])) == 5
    with pytest.raises(ProtocolError, match="0 ids came back"):
        requests.only_id(Submitted(ids=[]))


def test_missing_job_is_named_in_the_usual_encoding() -> None:
    with pytest.raises(NotFound, match=encode_f58(77)):
        requests.only_record(JobListed(jobs=[]), 77)


def test_info_without_keys_asks_for_all() -> None:
    assert requests.info(1, ()).keys == ["eventlog", "jobspec", "R"]
    assert requests.info(1, ("R",)).keys == ["R"]


def test_ids_named_twice_are_waited_for_once() -> None:
    assert requests.wait([3, 1, 3]).ids == [3, 1]


def test_refusal_for_one_of_several_jobs_is_raised_as_its_class() -> None:
    assert requests.touched(JobsTouched(ids=[1, 2], errors=[])) == [1, 2]
    rows = [[7, "invalid-transition", "is inactive"], [8, "not-found", "unknown"]]
    with pytest.raises(InvalidTransition) as caught:
        requests.touched(JobsTouched(ids=[1], errors=rows))
    assert str(caught.value) == f"{encode_f58(7)}: is inactive (and 1 more of 3 jobs were refused)"


def test_refusal_that_names_its_job_is_not_named_again() -> None:
    text = f"job {encode_f58(7)} is inactive"
    with pytest.raises(InvalidTransition) as caught:
        requests.touched(JobsTouched(ids=[], errors=[[7, "invalid-transition", text]]))
    assert str(caught.value) == text


def test_input_is_cut_into_pieces_and_ends_with_the_last() -> None:
    data = b"a" * requests.STDIN_BYTES + b"b"
    assert list(requests.stdin(1, data, (0,), True)) == [
        JobStdin(id=1, data=data[:-1], tasks=[0]),
        JobStdin(id=1, data=b"b", tasks=[0], eof=True),
    ]


def test_end_of_input_needs_no_data() -> None:
    assert list(requests.stdin(1, b"", (), True)) == [JobStdin(id=1, eof=True)]


def test_following_an_eventlog_goes_on_after_an_empty_answer() -> None:
    poll = EventPoll(1, 4, follow=True)
    assert (poll.request().since, poll.request().wait) == (4, True)
    assert poll.accept(JobEventsReply(events=[], next=4, done=False)) == []
    assert poll.request().since == 4
    poll.accept(JobEventsReply(events=[[1.0, "clean", None]], next=5, done=True))
    assert poll.done
    assert poll.request().since == 5


def test_following_is_not_done_before_the_job_is() -> None:
    poll = EventPoll(1, 0, follow=True)
    poll.accept(JobEventsReply(events=[], next=0, done=False))
    assert not poll.done


def test_reading_what_there_is_stops_at_an_empty_answer() -> None:
    poll = OutputPoll(1, follow=False)
    assert not poll.request().wait
    poll.accept(OutputReadReply(records=[[0, "stdout", b"x"]], next=10, done=False))
    assert poll.request().offset == 10
    poll.accept(OutputReadReply(records=[], next=10, done=False))
    assert poll.done
