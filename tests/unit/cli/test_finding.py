"""Commands that find jobs, change them and follow them: pgrep, pkill, update, watch, job last, timeleft, purge."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.protocol.jobs import (
    JobEnds,
    JobList,
    JobListed,
    JobPurge,
    JobPurged,
    JobRaise,
    JobsTouched,
    JobUpdate,
    JobUpdated,
    JobWait,
    OutputRead,
    OutputReadReply,
)
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record, pending_record
from tests.unit.cli.conftest import JOB, JOB_TEXT, Command

NEXT_TEXT = "ƒuZZybuNNz"


def jobs(broker: FakeBroker, *records: dict[str, Any]) -> None:
    own = [{**record, "userid": os.getuid()} for record in records]

    def listed(request: JobList) -> JobListed:
        return JobListed(jobs=[row for row in own if not request.ids or row["id"] in request.ids])

    broker.on(JobList, listed)


@pytest.fixture
def two(broker: FakeBroker) -> FakeBroker:
    jobs(broker, pending_record(JOB, name="simulate-1"), pending_record(JOB + 1, name="test"))
    broker.on(JobRaise, lambda request: JobsTouched(ids=request.ids, errors=[]))
    broker.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(id) for id in request.ids])]))
    return broker


@pytest.mark.parametrize(
    ("expressions", "found"),
    [
        (["^sim"], [JOB_TEXT]),
        (["name:t"], [JOB_TEXT, NEXT_TEXT]),
        (["t", "^t"], [NEXT_TEXT]),
        ([f"{JOB_TEXT}..{JOB}"], [JOB_TEXT]),
        ([f"{NEXT_TEXT}.."], [NEXT_TEXT]),
        ([f"..{NEXT_TEXT}", "sim"], [JOB_TEXT]),
        (["l..e"], [JOB_TEXT]),
    ],
)
def test_jobs_are_found_by_name_and_by_range(
    two: FakeBroker, fluxlike: Command, expressions: list[str], found: list[str]
) -> None:
    assert fluxlike("pgrep", *expressions).out.split() == found


def test_finding_nothing_is_told_by_the_exit_status(two: FakeBroker, fluxlike: Command) -> None:
    assert (fluxlike("pgrep", "nope").code, fluxlike("pkill", "nope").code) == (1, 1)
    assert fluxlike("pgrep", "(").code == 2


def test_found_jobs_can_be_shown_in_any_format(two: FakeBroker, fluxlike: Command) -> None:
    assert fluxlike("pgrep", "-n", "-o", "{name}", "sim").out == "simulate-1\n"
    assert fluxlike("pgrep", "-o", "{nam}", "sim").code == 2
    fluxlike("pgrep", "-a", "sim")
    assert [request.states for request in two.seen(JobList)] == [["pending", "running"], []]


def test_pkill_cancels_what_pgrep_finds(two: FakeBroker, fluxlike: Command) -> None:
    assert fluxlike("pkill", "-n", "sim").out == f"{JOB_TEXT}\n"
    assert not two.seen(JobRaise)
    assert fluxlike("pkill", "-w", "-m", "why", "sim").out == "Canceled 1 job\n"
    assert two.seen(JobRaise) == [JobRaise(ids=[JOB], note="why")]
    assert [request.ids for request in two.seen(JobWait)] == [[JOB]]


def test_update_prints_what_holds_now(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobUpdate, lambda request: JobUpdated(updates={"duration": 5400.0, "name": "x"}))
    result = fluxlike("update", JOB_TEXT, "duration=+1h", "name=x")
    assert (result.code, result.out) == (0, "duration=1.5h\nname=x\n")
    assert broker.seen(JobUpdate) == [JobUpdate(id=JOB, updates={"duration": "+1h", "name": "x"})]
    assert json.loads(fluxlike("update", "--json", JOB_TEXT, "name=x").out)["duration"] == 5400.0
    assert fluxlike("update", "-q", JOB_TEXT, "name=x").out == ""


@pytest.mark.parametrize(("change", "words"), [("duration", "KEY=VALUE"), ("durtion=1", "Did you mean 'duration'?")])
def test_a_change_that_cannot_be_read_is_a_usage_error(fluxlike: Command, change: str, words: str) -> None:
    result = fluxlike("update", JOB_TEXT, change)
    assert (result.code, words in result.err) == (2, True)


def test_a_refused_change_says_why(broker: FakeBroker, fluxlike: Command) -> None:
    def refuse(request: JobUpdate) -> None:
        raise InvalidRequest("it is inactive")

    broker.on(JobUpdate, refuse)
    assert (fluxlike("update", JOB_TEXT, "name=x").code, fluxlike("update", JOB_TEXT, "name=x").err) == (
        1,
        "fluxlike: it is inactive\n",
    )


def test_watch_writes_the_output_of_all(two: FakeBroker, fluxlike: Command) -> None:
    two.on(OutputRead, lambda request: OutputReadReply(records=[[0, "stdout", b"x\n"]], next=1, done=True))
    result = fluxlike("watch")
    assert (result.code, sorted(result.out.splitlines())) == (0, [f"{JOB_TEXT}: x", f"{NEXT_TEXT}: x"])
    assert two.seen(JobList)[0].states == ["active"]
    fluxlike("watch", "--all", "--since=1700000000")
    assert (two.seen(JobList)[1].states, two.seen(JobList)[1].since) == ([], 1_700_000_000.0)
    assert fluxlike("watch", "--all", JOB_TEXT).code == 2


def test_watching_nothing_ends_at_once(broker: FakeBroker, fluxlike: Command) -> None:
    jobs(broker)
    assert (fluxlike("watch").code, "no such job" in fluxlike("watch").err) == (0, True)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [([], [5]), (["2"], [5, 4]), (["99"], [5, 4, 3]), (["[1:2]"], [4]), (["[:]"], [5, 4, 3]), (["[-1:]"], [3])],
)
def test_the_last_jobs_are_those_with_the_largest_ids(
    broker: FakeBroker, fluxlike: Command, wanted: list[str], ids: list[int]
) -> None:
    jobs(broker, job_record(4), pending_record(3), job_record(5))
    out = fluxlike("job", "last", *wanted).out.split()
    assert [fluxlike("job", "id", text).out.strip() for text in out] == list(map(str, ids))


def test_no_last_job_is_an_error(broker: FakeBroker, fluxlike: Command) -> None:
    jobs(broker)
    assert fluxlike("job", "last").code == 1
    assert fluxlike("job", "last", "0").code == 2


def test_the_time_that_is_left(broker: FakeBroker, fluxlike: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLUX_JOB_ID", raising=False)
    jobs(broker, pending_record(JOB), job_record(JOB + 1, state="run", expiration=4e9), job_record(3, state="run"))
    left = int(fluxlike("job", "timeleft", NEXT_TEXT).out)
    assert 0 < left < 4e9
    assert fluxlike("job", "timeleft", "-H", NEXT_TEXT).out.endswith("d\n")
    assert fluxlike("job", "timeleft", "3").out == "infinity\n"
    assert "does not run" in fluxlike("job", "timeleft", JOB_TEXT).err
    assert fluxlike("job", "timeleft").code == 2
    monkeypatch.setenv("FLUX_JOB_ID", "3")
    assert fluxlike("job", "timeleft").out == "infinity\n"


def test_purging_needs_force(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobPurge, lambda request: JobPurged(count=7))
    assert fluxlike("job", "purge").out == "Would purge 7 inactive jobs; say --force to do it\n"
    assert fluxlike("job", "purge", "-f", "--age-limit=1d", "--num-limit=5").out == "Purged 7 inactive jobs\n"
    assert fluxlike("job", "purge", "-f", JOB_TEXT).code == 0
    assert broker.seen(JobPurge) == [
        JobPurge(num=0, dry_run=True),
        JobPurge(age=86400.0, num=5),
        JobPurge(ids=[JOB]),
    ]
    assert fluxlike("job", "purge", "--num-limit=1", JOB_TEXT).code == 2
