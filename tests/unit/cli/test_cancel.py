from __future__ import annotations

import json

import pytest

from fluxlike.protocol.jobs import JobRaise, JobsTouched
from fluxlike.testing.fake_broker import FakeBroker
from tests.unit.cli.conftest import JOB, JOB_TEXT, Command


@pytest.fixture(autouse=True)
def all_can_be_cancelled(broker: FakeBroker) -> None:
    broker.on(JobRaise, lambda request: JobsTouched(ids=request.ids or [JOB, JOB + 1], errors=[]))


def test_jobs_are_cancelled_by_id_without_a_word(broker: FakeBroker, fluxlike: Command) -> None:
    result = fluxlike("cancel", "-m", "wrong input", JOB_TEXT, str(JOB + 1))
    assert (result.code, result.out, result.err) == (0, "", "")
    assert broker.seen(JobRaise) == [JobRaise(ids=[JOB, JOB + 1], note="wrong input")]


def test_all_means_the_active_ones(broker: FakeBroker, fluxlike: Command) -> None:
    assert fluxlike("cancel", "--all").out == "Canceled 2 jobs\n"
    assert broker.seen(JobRaise) == [JobRaise(ids=[], states=["active"])]


def test_states_narrow_it_down(broker: FakeBroker, fluxlike: Command) -> None:
    fluxlike("cancel", "--all", "-S", "pending")
    fluxlike("cancel", "-q", "-S", "depend,SCHED")
    assert [request.states for request in broker.seen(JobRaise)] == [["pending"], ["depend", "sched"]]


def test_a_dry_run_names_the_jobs(broker: FakeBroker, fluxlike: Command) -> None:
    result = fluxlike("cancel", "--all", "-n")
    assert (result.out, result.err) == (f"{JOB_TEXT}\nƒuZZybuNNz\n", "Would cancel 2 jobs\n")
    assert broker.seen(JobRaise)[0].dry_run


def test_quiet_says_nothing(fluxlike: Command) -> None:
    assert fluxlike("cancel", "--all", "-q").out == ""


def test_a_job_that_cannot_be_cancelled_is_told_and_gives_status_one(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobRaise, lambda request: JobsTouched(ids=[], errors=[[JOB, "not-found", "unknown job"]]))
    result = fluxlike("cancel", "-q", JOB_TEXT)
    assert (result.code, result.err) == (1, f"fluxlike: {JOB_TEXT}: unknown job\n")


def test_json_has_both_outcomes(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobRaise, lambda request: JobsTouched(ids=[JOB], errors=[[JOB + 1, "not-found", "unknown job"]]))
    result = fluxlike("cancel", "--json", JOB_TEXT, str(JOB + 1))
    answer = json.loads(result.out)
    assert result.code == 1
    assert answer["canceled"] == [{"id": JOB_TEXT, "jobid": str(JOB)}]
    assert answer["errors"][0]["code"] == "not-found"


@pytest.mark.parametrize("args", [[], ["--all", JOB_TEXT], ["-S", "inactive"], ["-S", "pendng"], ["nonsense"]])
def test_unclear_orders_are_usage_errors(broker: FakeBroker, fluxlike: Command, args: list[str]) -> None:
    assert fluxlike("cancel", *args).code == 2
    assert broker.seen(JobRaise) == []
