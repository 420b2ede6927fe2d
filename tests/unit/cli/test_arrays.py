from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxlike.ids import encode_f58, nth_after
from fluxlike.protocol.jobs import (
    JobEnds,
    JobInfo,
    JobInfoReply,
    JobKill,
    JobList,
    JobListed,
    JobRaise,
    JobsTouched,
    JobTasks,
    JobTasksListed,
    JobWait,
    OutputRead,
    OutputReadReply,
    Submit,
    SubmitArray,
    Submitted,
)
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record
from fluxlike_cli.targets import Target, parse_target
from tests.unit.cli.conftest import JOB, JOB_TEXT, Command

TASK_2 = nth_after(JOB, 3)


def task(index: int, result: str = "completed", returncode: int = 0) -> dict[str, Any]:
    return {
        "index": index,
        "id": nth_after(JOB, index + 1),
        "cc": f"v{index}",
        "state": "inactive" if result else "run",
        "result": result,
        "status": returncode << 8,
        "returncode": returncode,
        "ranks": "",
        "nodelist": "" if result else "node0",
        "t_run": 1_700_000_000.0,
        "t_inactive": 1_700_000_001.5 if result else 0.0,
    }


TASKS = [task(0), task(1), task(2, "failed", 3), task(3, "canceled", -128)]


@pytest.fixture
def array(broker: FakeBroker) -> FakeBroker:
    def listed(request: JobTasks) -> JobTasksListed:
        wanted = [row for row in TASKS if not request.states or row["result"] in request.states]
        return JobTasksListed(tasks=[row for row in wanted if row["index"] >= request.first][: request.limit])

    broker.on(SubmitArray, lambda request: Submitted(ids=[JOB]))
    broker.on(JobTasks, listed)
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(id, array=4) for id in request.ids]))
    return broker


def submitted(array: FakeBroker, fluxlike: Command, *options: str) -> SubmitArray:
    result = fluxlike("submit", *options, "app", "{cc}")
    assert (result.code, result.out) == (0, f"{JOB_TEXT}\n"), result.err
    return array.seen(SubmitArray)[-1]


def test_a_number_is_how_many_tasks(array: FakeBroker, fluxlike: Command) -> None:
    request = submitted(
        array, fluxlike, "--array=1000000", "--max-running=8", "--max-fails=0", "--key=k", "--urgency=3"
    )
    assert (request.count, request.values, request.max_running, request.max_fails) == (1_000_000, [], 8, 0)
    assert (request.key, request.urgency, request.spec["tasks"][0]["command"]) == ("k", 3, ["app", "{cc}"])


def test_an_idset_names_the_values(array: FakeBroker, fluxlike: Command) -> None:
    assert submitted(array, fluxlike, "--array=0-9").values == []
    assert submitted(array, fluxlike, "--array=3,7-8").values == ["3", "7", "8"]
    assert submitted(array, fluxlike, "--array=5").max_fails == -1


def test_lines_and_elements_are_values(array: FakeBroker, fluxlike: Command, tmp_path: Path) -> None:
    lines, items = tmp_path / "lines", tmp_path / "items"
    lines.write_text("one two\n\nthree")
    items.write_text('["a", 1, {"b": [2]}]')
    assert submitted(array, fluxlike, f"--each-line={lines}").values == ["one two", "", "three"]
    assert submitted(array, fluxlike, f"--each-line={lines}", "--array=0,2").values == ["one two", "three"]
    assert submitted(array, fluxlike, f"--from-json={items}").values == ["a", "1", '{"b":[2]}']


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--array=0"], "at least one task"),
        (["--array=x"], "--array"),
        (["--array=2", "--cc=1"], "one job"),
        (["--max-fails=1"], "is for arrays"),
        (["--each-line=FILE", "--from-json=FILE"], "not both"),
        (["--each-line=FILE", "--array=7"], "names index 6"),
        (["--from-json=FILE"], "must be a list"),
        (["--each-line=EMPTY"], "no value"),
    ],
)
def test_an_array_that_makes_no_sense_is_a_usage_error(
    array: FakeBroker, fluxlike: Command, tmp_path: Path, options: list[str], words: str
) -> None:
    (tmp_path / "file").write_text("1\n")
    (tmp_path / "empty").write_text("")
    named = [text.replace("FILE", f"{tmp_path}/file").replace("EMPTY", f"{tmp_path}/empty") for text in options]
    result = fluxlike("submit", *named, "app")
    assert (result.code, words in result.err) == (2, True), result.err


def test_tasks_are_listed(array: FakeBroker, fluxlike: Command) -> None:
    assert fluxlike("jobs", "--tasks", JOB_TEXT).out.splitlines() == [
        "INDEX CC       ST   RC  RUNTIME NODELIST",
        "    0 v0       CD    0     1.5s",
        "    1 v1       CD    0     1.5s",
        "    2 v2        F    3     1.5s",
        "    3 v3       CA -128     1.5s",
    ]
    failed = fluxlike("jobs", "--tasks", JOB_TEXT, "-n", "-f", "failed", "-o", "{index} {cc}")
    assert failed.out == "2 v2\n"
    assert [row["id"] for row in json.loads(fluxlike("jobs", "--tasks", JOB_TEXT, "--json").out)["tasks"]] == [
        f"{JOB_TEXT}.{index}" for index in range(4)
    ]
    assert fluxlike("jobs", "--tasks", JOB_TEXT, "-n", "--sort=-index", "-o", "index").out.split() == list("3210")
    assert "Did you mean 'index'?" in fluxlike("jobs", "--tasks", JOB_TEXT, "-o", "indx").err


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (JOB_TEXT, Target(JOB)),
        (f"{JOB_TEXT}.0", Target(JOB, 0)),
        (f"{JOB}.12", Target(JOB, 12)),
        ("0017.e9fb.8df1.6c2e", Target(JOB)),
        ("0017.e9fb.8df1.6c2e.3", Target(JOB, 3)),
    ],
)
def test_a_task_is_named_by_its_array_and_index(text: str, target: Target) -> None:
    assert parse_target(text) == target


def test_cancel_and_kill_reach_single_tasks(array: FakeBroker, fluxlike: Command) -> None:
    def refused(request: JobRaise | JobKill) -> JobsTouched:
        return JobsTouched(ids=[], errors=[[id, "invalid", "it is over"] for id in request.ids])

    array.on(JobRaise, refused)
    array.on(JobKill, refused)
    told = f"fluxlike: {JOB_TEXT}.2: it is over\n"
    for words in (["cancel"], ["job", "kill"], ["job", "raise"]):
        result = fluxlike(*words, f"{JOB_TEXT}.2")
        assert (result.code, result.err) == (1, told)
    assert (array.seen(JobRaise)[0].ids, array.seen(JobKill)[0].ids) == ([TASK_2], [TASK_2])
    assert "has no task 9" in fluxlike("cancel", f"{JOB_TEXT}.9").err


def output(request: OutputRead) -> OutputReadReply:
    return OutputReadReply(records=[[0, "stdout", f"{encode_f58(request.id)}\n".encode()]], next=1, done=True)


def test_attach_to_a_task_gives_its_output_and_exit_code(array: FakeBroker, fluxlike: Command) -> None:
    array.on(OutputRead, output)
    result = fluxlike("job", "attach", f"{JOB_TEXT}.2")
    assert (result.code, result.out) == (3, f"{encode_f58(TASK_2)}\n")


def test_attach_to_an_array_labels_lines_with_tasks(array: FakeBroker, fluxlike: Command) -> None:
    array.on(OutputRead, output)
    array.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(JOB, result="failed", returncode=3)])]))
    result = fluxlike("job", "attach", JOB_TEXT)
    lines = [f"{JOB_TEXT}.{index}: {encode_f58(nth_after(JOB, index + 1))}" for index in range(4)]
    assert (result.code, sorted(result.out.splitlines())) == (3, lines)


def test_status_and_wait_know_tasks(array: FakeBroker, fluxlike: Command) -> None:
    array.on(OutputRead, output)
    array.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(id) for id in request.ids])]))
    result = fluxlike("job", "status", "-v", "--json", f"{JOB_TEXT}.2", f"{JOB_TEXT}.1", JOB_TEXT)
    assert (result.code, [row["id"] for row in json.loads(result.out)]) == (
        3,
        [f"{JOB_TEXT}.2", f"{JOB_TEXT}.1", JOB_TEXT],
    )
    assert result.err.splitlines()[0] == f"{JOB_TEXT}.2: failed: exit code 3"
    assert fluxlike("job", "wait", f"{JOB_TEXT}.1").code == 0
    assert fluxlike("job", "wait", f"{JOB_TEXT}.3").code == 1


def test_info_of_a_task(array: FakeBroker, fluxlike: Command) -> None:
    assert json.loads(fluxlike("job", "info", "--json", f"{JOB_TEXT}.2").out)["id"] == f"{JOB_TEXT}.2"
    assert fluxlike("job", "info", f"{JOB_TEXT}.2", "R").code == 2


def test_what_failed_is_submitted_again_with_its_values(array: FakeBroker, fluxlike: Command) -> None:
    array.on(JobInfo, lambda request: JobInfoReply(values={"jobspec": {"version": 1}}))
    assert fluxlike("job", "resubmit", "--failed", JOB_TEXT).out == f"{JOB_TEXT}\n"
    assert array.seen(SubmitArray)[-1].values == ["v2", "v3"]
    fluxlike("job", "resubmit", JOB_TEXT)
    assert array.seen(SubmitArray)[-1].values == ["v0", "v1", "v2", "v3"]


def test_an_ordinary_job_is_submitted_again_as_it_was(broker: FakeBroker, fluxlike: Command) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(JOB, cc="7", urgency=3)]))
    broker.on(JobInfo, lambda request: JobInfoReply(values={"jobspec": {"version": 1}}))
    assert fluxlike("job", "resubmit", JOB_TEXT).code == 0
    (request,) = broker.seen(Submit)
    assert (request.specs, request.jobs, request.urgency) == ([{"version": 1}], [[0, "7"]], 3)
    assert "not an array" in fluxlike("job", "resubmit", "--failed", JOB_TEXT).err
