from __future__ import annotations

import pytest

from fluxlike.client import requests
from fluxlike.client.requests import EventPoll, JobPages, OutputPoll, TaskPages
from fluxlike.errors import InvalidRequest, InvalidTransition, NotFound
from fluxlike.ids import encode_f58
from fluxlike.protocol.jobs import (
    JobEventsReply,
    JobList,
    JobListed,
    JobPurge,
    JobStdin,
    JobsTouched,
    JobTasksListed,
    OutputReadReply,
)


def page(first: int, count: int, cursor: str = "") -> JobListed:
    return JobListed(jobs=[{"id": n} for n in range(first, first + count)], cursor=cursor)


def test_a_list_is_followed_by_its_cursor_to_the_end() -> None:
    pages = JobPages(["inactive"], (), "", 0, 5.0)
    assert pages.request() == JobList(states=["inactive"], limit=0, since=5.0)
    assert [job.id for job in pages.accept(page(0, 3, "c"))] == [0, 1, 2]
    assert pages.request() == JobList(states=["inactive"], limit=0, since=5.0, cursor="c")
    pages.accept(page(3, 1))
    assert pages.done


def test_a_limited_list_asks_for_what_is_left() -> None:
    pages = JobPages((), (), "", 5, 0.0)
    pages.accept(page(0, 3, "c"))
    assert pages.request() == JobList(limit=2, cursor="c")
    pages.accept(page(3, 2, "d"))
    assert pages.done


def test_a_list_whose_first_page_is_empty_goes_on_by_its_cursor() -> None:
    pages = JobPages((), (), "", 2, 0.0)
    pages.accept(page(0, 0, "i:"))
    assert not pages.done
    assert pages.request() == JobList(limit=2, cursor="i:")


def tasks(first: int, count: int) -> JobTasksListed:
    return JobTasksListed(tasks=[{"index": n} for n in range(first, first + count)])


def test_tasks_of_an_array_are_read_in_parts() -> None:
    pages = TaskPages(7, ["failed"], 3, requests.TASKS_PAGE + 5)
    assert (pages.request().first, pages.request().limit) == (3, requests.TASKS_PAGE)
    pages.accept(tasks(3, requests.TASKS_PAGE))
    assert (pages.request().first, pages.request().limit) == (3 + requests.TASKS_PAGE, 5)
    pages.accept(tasks(90_000, 5))
    assert pages.done


def test_fewer_tasks_than_asked_for_are_the_last() -> None:
    pages = TaskPages(7, (), 0, 0)
    pages.accept(tasks(0, 3))
    assert pages.done


def test_purging_needs_to_be_told_what() -> None:
    with pytest.raises(InvalidRequest, match="say which jobs to purge"):
        requests.purge((), None, None, False)
    with pytest.raises(InvalidRequest, match="age must be 0 or more, not -1"):
        requests.purge((), -1, None, False)
    assert requests.purge((), 0, None, True) == JobPurge(age=0, dry_run=True)
    assert requests.purge((4,), None, 0, False) == JobPurge(ids=[4], num=0)


def test_an_update_needs_to_be_told_what() -> None:
    with pytest.raises(InvalidRequest, match="say what to change"):
        requests.update(1, {})


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
