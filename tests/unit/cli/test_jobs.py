from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fluxlike.client.results import JobRecord
from fluxlike.protocol.jobs import JobList, JobListed, JobStats, JobStatsReply
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record, pending_record
from fluxlike_cli.output.job_fields import FIELDS, contextual_info, inactive_reason
from fluxlike_cli.output.jobs import FORMATS, job_table, read_format
from tests.unit.cli.conftest import JOB, JOB_TEXT, Command

NOW = 1_700_000_100.0


def table(*records: dict[str, Any], format: str = "default", header: bool = True) -> list[str]:
    return job_table([JobRecord(record) for record in records], NOW, read_format(format), header)


def running(id: int, **fields: Any) -> dict[str, Any]:
    return job_record(id, **{"state": "run", "result": "", "t_cleanup": 0.0, "t_inactive": 0.0, **fields})


def test_the_default_table() -> None:
    lines = table(
        pending_record(JOB, userid=0, name="a-long-job-name", ntasks=4, duration=5400.0, reason="waits for cores"),
        running(JOB + 1, userid=0, nodelist="node[0-1]", nnodes=2, t_run=NOW - 90),
    )
    assert lines == [
        "       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO",
        "  ƒuZZybuNNy root     a-long-jo+  S      4      -     1.5h waits for cores",
        "  ƒuZZybuNNz root     true        R      1      2     1.5m node[0-1]",
    ]


def test_the_queue_is_shown_once_a_job_has_one() -> None:
    header, first, second = table(job_record(1, queue="batch-long"), job_record(2))
    assert header.split()[1] == "QUEUE"
    assert " batch-l+ " in first
    assert len(first) == len(second)


def test_the_user_column_is_as_wide_as_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    header, row = table(job_record(1, userid=123_456_789_012))
    assert row.split()[1] == "123456789012"
    assert header.index("NAME") == row.index("true")


def test_no_header_on_request_and_nothing_for_no_jobs() -> None:
    assert table(header=False) == []
    assert len(table()) == 1
    assert len(table(job_record(1), header=False)) == 1


@pytest.mark.parametrize(
    ("record", "info"),
    [
        (pending_record(1, state="priority"), "priority-wait"),
        (pending_record(1, state="depend", dependencies=["after-ok=f1", "x"]), "depends:after-ok=f1,x"),
        (pending_record(1, annotations={"sched": {"t_estimate": NOW + 120}}), "eta:2m"),
        (pending_record(1, annotations={"sched": {"t_estimate": NOW - 5}}), "eta:now"),
        (pending_record(1, urgency=0, priority=0), "held"),
        (pending_record(1, priority=0), "priority-hold"),
        (pending_record(1, reason="needs 4 cores, 2 free"), "needs 4 cores, 2 free"),
        (running(1), "node0"),
        (job_record(1), "node0"),
    ],
)
def test_the_last_column_says_where_a_job_runs_or_what_it_waits_for(record: dict[str, Any], info: str) -> None:
    assert contextual_info(JobRecord(record), NOW) == info


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Exit 0"),
        ({"result": "failed", "returncode": 3}, "Exit 3"),
        ({"result": "failed", "returncode": 139}, "Signal 11"),
        ({"result": "canceled", "exception_note": "no"}, "Canceled: no"),
        ({"result": "timeout"}, "Timeout"),
        (
            {"result": "failed", "exception_severity": 0, "exception_type": "exec", "exception_note": "no file"},
            "Exception: exec: no file",
        ),
    ],
)
def test_why_a_job_ended(fields: dict[str, Any], text: str) -> None:
    assert inactive_reason(JobRecord(job_record(1, **fields))) == text


@pytest.mark.parametrize("format", [*FORMATS, *FIELDS])
def test_every_format_and_field_can_be_shown(format: str) -> None:
    for record in (job_record(1), pending_record(2), running(3, expiration=NOW + 60)):
        assert len(table(record, format=format)) == 2


def test_an_array_is_one_row_that_counts_its_tasks() -> None:
    record = running(1, array=10, tasks={"failed": 2, "completed": 5, "running": 3})
    assert table(record, format="contextual_info", header=False) == ["3 running, 5 completed, 2 failed"]
    assert table(record, format="{tasks.failed} of {array}", header=False) == ["2 of 10"]


def test_annotations_are_fields() -> None:
    record = pending_record(1, annotations={"user": {"step": 4}, "sched": {"x": {"y": [1]}}})
    assert table(record, format="{user.step} {sched.x} {annotations.sched.z:h}", header=False) == ['4 {"y":[1]} -']


def test_a_line_break_in_a_value_does_not_break_the_table() -> None:
    assert len(table(pending_record(1, reason="one\ntwo"))) == 2


def asked(broker: FakeBroker, fluxlike: Command, *args: str) -> JobList:
    broker.on(JobList, lambda request: JobListed(jobs=[]))
    assert fluxlike("jobs", *args).code == 0
    return broker.seen(JobList)[-1]


def test_by_default_it_asks_for_our_active_jobs(broker: FakeBroker, fluxlike: Command) -> None:
    assert asked(broker, fluxlike) == JobList(states=["pending", "running"], userid=os.getuid(), limit=1000)


def test_filters_become_the_request(broker: FakeBroker, fluxlike: Command) -> None:
    assert asked(broker, fluxlike, "-a") == JobList(userid=os.getuid())
    assert asked(broker, fluxlike, "-A", "-c0") == JobList(limit=10_000)
    assert asked(broker, fluxlike, "-u", "root", "-f", "RUN,Failed") == JobList(states=["run", "failed"], userid=0)
    assert asked(broker, fluxlike, "-u", "all", "-f", "inactive", "--name=x", "-c", "5") == JobList(
        states=["inactive"], name="x", limit=5
    )


def test_since_asks_for_all_states(broker: FakeBroker, fluxlike: Command) -> None:
    assert asked(broker, fluxlike, "--since=1700000000.5") == JobList(userid=os.getuid(), since=1700000000.5)
    assert asked(broker, fluxlike, "--since=1700000000", "-f", "failed").states == ["failed"]
    assert asked(broker, fluxlike, "--since=-1h").since > 1_700_000_000


def test_a_long_list_comes_in_pages_with_one_header(broker: FakeBroker, fluxlike: Command) -> None:
    rows = [job_record(number, name="x" * number) for number in range(1, 6)]

    def answer(request: JobList) -> JobListed:
        start = int(request.cursor or 0)
        stop = min(start + 2, start + request.limit)
        return JobListed(jobs=rows[start:stop], cursor=str(stop) if stop < len(rows) else "")

    broker.on(JobList, answer)
    assert fluxlike("jobs", "-a", "-c0", "-o", "{name}").out.split() == ["NAME", "x", "xx", "xxx", "xxxx", "xxxxx"]
    assert fluxlike("jobs", "-a", "-n", "-c3", "-o", "{name}").out.split() == ["x", "xx", "xxx"]
    assert len(json.loads(fluxlike("jobs", "-a", "-c0", "--json").out)["jobs"]) == 5
    assert fluxlike("jobs", "-a", "-n", "-c0", "--sort=-name", "-o", "{name}").out.split()[0] == "xxxxx"


def test_jobs_are_found_by_where_they_ran(broker: FakeBroker, fluxlike: Command) -> None:
    rows = [job_record(1, ranks="0-2", nodelist="a[0-2]"), job_record(2, ranks="3", nodelist="b"), pending_record(3)]
    broker.on(JobList, lambda request: JobListed(jobs=rows))
    assert fluxlike("jobs", "-n", "-i", "1,7", "-o", "id.dec").out.split() == ["1"]
    assert fluxlike("jobs", "-n", "-i", "b,c", "-o", "id.dec").out.split() == ["2"]
    assert fluxlike("jobs", "-i", "a[0").code == 2


def test_the_usual_format_may_be_the_users_own(
    broker: FakeBroker, fluxlike: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FLUXLIKE_JOBS_FORMAT_DEFAULT", "mine")
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(1)]))
    assert "jobs.toml" in fluxlike("jobs").err
    file = tmp_path / "fluxlike" / "jobs.toml"
    file.parent.mkdir()
    file.write_text('[formats.mine]\ndescription = "Short"\nformat = "{name}={returncode}"\n')
    assert fluxlike("jobs", "-n").out == "true=0\n"
    assert "Short" in fluxlike("jobs", "-o", "help").out
    file.write_text("[formats.mine]\n")
    result = fluxlike("jobs")
    assert (result.code, "formats.mine needs a text" in result.err) == (1, True)
    monkeypatch.setenv("FLUXLIKE_JOBS_FORMAT_DEFAULT", "{nam}")
    assert "FLUXLIKE_JOBS_FORMAT_DEFAULT" in fluxlike("jobs").err


def test_stats_only_fails_once_nothing_is_active(broker: FakeBroker, fluxlike: Command) -> None:
    numbers = dict.fromkeys(JobStatsReply.fields, 0)
    broker.on(JobStats, lambda request: JobStatsReply(**numbers))
    result = fluxlike("jobs", "--stats-only")
    assert (result.code, result.out.startswith("0 running")) == (1, True)
    numbers["sched"] = 1
    assert json.loads(fluxlike("jobs", "--stats-only", "--json").out)["stats"]["sched"] == 1
    assert fluxlike("jobs", "--stats-only").code == 0


def test_the_count_applies_to_the_jobs_of_the_queue(broker: FakeBroker, fluxlike: Command) -> None:
    rows = [job_record(number, queue="ab"[number % 2]) for number in range(1, 9)]
    broker.on(JobList, lambda request: JobListed(jobs=rows[: request.limit or None]))
    result = fluxlike("jobs", "-a", "-n", "-q", "b", "-c", "3", "-o", "id.dec")
    assert result.out.split() == ["1", "3", "5"]


def test_jobs_are_found_by_id_in_any_encoding(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(id) for id in request.ids]))
    result = fluxlike("jobs", "-n", "-o", "id", JOB_TEXT, str(JOB), hex(JOB + 1))
    assert broker.seen(JobList)[0].ids == [JOB, JOB + 1]
    assert result.out.split() == [JOB_TEXT, "ƒuZZybuNNz"]


def test_an_id_that_no_job_has_is_told(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[]))
    result = fluxlike("jobs", JOB_TEXT)
    assert (result.code, result.err) == (1, f"fluxlike: no job has the id {JOB_TEXT}\n")


def test_json_has_ids_as_text(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(JOB)]))
    (job,) = json.loads(fluxlike("jobs", "-a", "--json").out)["jobs"]
    assert (job["id"], job["jobid"], job["returncode"]) == (JOB_TEXT, str(JOB), 0)


def test_stats_come_first(broker: FakeBroker, fluxlike: Command) -> None:
    counts = JobStatsReply(
        depend=1, priority=0, sched=2, run=3, cleanup=1, inactive=9, completed=5, failed=2, canceled=1, timeout=1
    )
    broker.on(JobList, lambda request: JobListed(jobs=[]))
    broker.on(JobStats, lambda request: counts)
    line = "4 running, 5 completed, 2 failed, 1 canceled, 1 timed out, 3 pending"
    assert fluxlike("jobs", "--stats").out.splitlines()[0] == line
    assert json.loads(fluxlike("jobs", "--stats", "--json").out)["stats"]["completed"] == 5


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-f", "faild"], "Did you mean 'failed'?"),
        (["-f", ","], "one or more"),
        (["-o", "id,nam"], "Did you mean 'name'?"),
        (["-o", "defualt"], "Did you mean 'default'?"),
        (["-o", "{id"], "a lone '{'"),
        (["-o", "{id!Z}"], "unknown conversion !Z"),
        (["-o", "{id:^^^}"], "cannot read '^^^'"),
        (["-o", "{nam}"], "Did you mean 'name'?"),
        (["-o", "text"], "is no format"),
        (["--sort", "runtme"], "Did you mean 'runtime'?"),
        (["--since", "tomorrow"], "examples: -30m"),
        (["-o", ""], "no field"),
        (["-u", "nobody-of-that-name"], "no user"),
        (["xyz"], "xyz"),
    ],
)
def test_a_wrong_value_is_a_usage_error(fluxlike: Command, args: list[str], words: str) -> None:
    result = fluxlike("jobs", *args)
    assert result.code == 2
    assert words in result.err
