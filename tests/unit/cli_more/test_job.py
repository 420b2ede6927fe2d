"""`fluxlike job ...`: what is asked of the broker, what is printed, how it exits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fluxlike.errors import InvalidJobspec, NotFound
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEvents,
    JobEventsReply,
    JobInfo,
    JobInfoReply,
    JobKill,
    JobList,
    JobListed,
    JobRaise,
    JobsTouched,
    JobUrgency,
    JobUrgencySet,
    JobWait,
    OutputRead,
    OutputReadReply,
    Submit,
    Submitted,
)
from fluxlike.testing.fake_broker import SILENCE, FakeBroker
from fluxlike.testing.records import job_record, pending_record

Fluxlike = Callable[..., Any]

JOB = 6731191091817518
NAME = "ƒuZZybuNNy"
OTHER = JOB + 1

EVENTS = [
    [1700000000.0, "submit", {"userid": 1000, "urgency": 16}],
    [1700000000.25, "start", None],
    [1700000001.0, "finish", {"status": 0}],
    [1700000001.5, "clean", None],
]


@pytest.fixture
def eventful(broker: FakeBroker) -> FakeBroker:
    """A job whose first two events are there and whose others come one by one."""

    def events(request: JobEvents) -> JobEventsReply:
        end = len(EVENTS) if not request.wait else max(2, request.since + 1)
        return JobEventsReply(events=EVENTS[request.since : end], next=end, done=end >= len(EVENTS))

    broker.on(JobEvents, events)
    return broker


def ending(*records: dict[str, Any]) -> Callable[[JobWait], Iterator[JobEnds]]:
    def answer(request: JobWait) -> Iterator[JobEnds]:
        yield from [JobEnds(jobs=[record]) for record in records if record["id"] in request.ids]

    return answer


# -- submit -------------------------------------------------------------------------------------------------


def test_jobspec_in_a_file_is_submitted_and_its_id_printed(
    fluxlike: Fluxlike, broker: FakeBroker, tmp_path: Path
) -> None:
    broker.on(Submit, lambda request: Submitted(ids=[JOB]))
    path = tmp_path / "job.json"
    path.write_text(json.dumps(from_command(["true"], cwd="/tmp")))
    result = fluxlike("job", "submit", "--urgency", "hold", "--flags", "waitable,debug", path)
    assert result == (0, f"{NAME}\n", "")
    (request,) = broker.seen(Submit)
    assert (request.urgency, request.flags) == (0, ["waitable", "debug"])
    assert request.specs[0]["tasks"][0]["command"] == ["true"]


def test_yaml_jobspec_is_read_from_standard_input(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    import yaml

    broker.on(Submit, lambda request: Submitted(ids=[JOB]))
    text = yaml.safe_dump(from_command(["hostname"], cwd="/tmp"))
    assert fluxlike("job", "submit", stdin=text).out == f"{NAME}\n"
    assert broker.seen(Submit)[0].specs[0]["tasks"][0]["command"] == ["hostname"]


def test_bad_jobspec_is_refused_with_its_field_and_nothing_is_asked(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    spec = from_command(["true"], cwd="/tmp")
    spec["tasks"][0]["command"] = []
    result = fluxlike("job", "submit", "-", stdin=json.dumps(spec))
    assert result.code == 1
    assert result.err.startswith("fluxlike: tasks[0].command: ")
    assert broker.requests == []


def test_refusal_by_the_broker_is_one_line(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    def refuse(request: Submit) -> Submitted:
        raise InvalidJobspec("must be positive", "attributes.system.duration")

    broker.on(Submit, refuse)
    result = fluxlike("job", "submit", stdin=json.dumps(from_command(["true"], cwd="/tmp")))
    assert result == (1, "", "fluxlike: attributes.system.duration: must be positive\n")


# -- info, eventlog, id -------------------------------------------------------------------------------------


def test_record_is_shown_as_text_and_as_json(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(JOB, name="sim", ntasks=4)]))
    text = fluxlike("job", "info", NAME)
    assert text.lines[0].split() == ["id", NAME]
    assert "ntasks              4" in text.lines
    assert "t_submit            2023-11-14 22:13:20" in text.lines
    assert not any(line.startswith(("queue", "reason")) for line in text.lines)
    record = json.loads(fluxlike("job", "info", "--json", NAME).out)
    assert (record["id"], record["name"], record["t_submit"]) == (NAME, "sim", 1700000000.0)


def test_info_about_an_unknown_job_fails(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[]))
    result = fluxlike("job", "info", NAME)
    assert result.code == 1
    assert NAME in result.err


def test_parts_of_a_job_are_printed_as_json(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    values: dict[str, Any] = {"jobspec": {"version": 1}, "R": {"version": 1}, "eventlog": EVENTS}
    broker.on(JobInfo, lambda request: JobInfoReply(values={key: values[key] for key in request.keys}))
    assert fluxlike("job", "info", NAME, "R").out == '{"version":1}\n'
    assert fluxlike("job", "info", NAME, "jobspec").out == '{"version":1}\n'
    lines = fluxlike("job", "info", NAME, "eventlog").lines
    assert json.loads(lines[0]) == {"timestamp": 1700000000.0, "name": "submit", "context": EVENTS[0][2]}
    assert len(json.loads(fluxlike("job", "info", "--json", NAME, "eventlog").out)) == 4


def test_part_that_a_job_does_not_have_yet_is_an_error(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobInfo, lambda request: JobInfoReply(values={}))
    result = fluxlike("job", "info", NAME, "R")
    assert (result.code, result.out) == (1, "")
    assert "has no R" in result.err


def test_eventlog_prints_what_is_there(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    assert fluxlike("job", "eventlog", NAME).lines == [
        "1700000000.000000 submit userid=1000 urgency=16",
        "1700000000.250000 start",
        "1700000001.000000 finish status=0",
        "1700000001.500000 clean",
    ]
    assert not any(request.wait for request in eventful.seen(JobEvents))


def test_eventlog_follows_to_the_end(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    assert fluxlike("job", "eventlog", "-F", "-T", "offset", NAME).lines == [
        "0.000000 submit userid=1000 urgency=16",
        "0.250000 start",
        "1.000000 finish status=0",
        "1.500000 clean",
    ]
    assert len(eventful.seen(JobEvents)) == 3


@pytest.mark.parametrize("option", ["--json", "-fjson", "--format=json"])
def test_eventlog_as_json_has_an_object_per_line(fluxlike: Fluxlike, eventful: FakeBroker, option: str) -> None:
    lines = fluxlike("job", "eventlog", option, NAME).lines
    assert [json.loads(line)["name"] for line in lines] == ["submit", "start", "finish", "clean"]


def test_eventlog_for_people_has_minutes_and_steps(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    lines = fluxlike("job", "eventlog", "-H", NAME).lines
    assert lines[:2] == ["[Nov14 22:13] submit userid=1000 urgency=16", "[  +0.250000] start"]


def test_id_needs_no_instance(fluxlike: Fluxlike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLUXLIKE_URI")
    assert fluxlike("job", "id", NAME).out == f"{JOB}\n"
    assert fluxlike("job", "id", "--to=f58", JOB, hex(JOB)).lines == [NAME, NAME]
    assert fluxlike("job", "id", "--to=dothex", stdin=f"{NAME} {JOB}\n\n{NAME}\n").lines == ["0017.e9fb.8df1.6c2e"] * 3
    assert fluxlike("job", "id", "nope").code == 1


# -- wait-event, wait, status, attach -----------------------------------------------------------------------


def test_wait_event_prints_the_event_alone(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    assert fluxlike("job", "wait-event", NAME, "finish") == (0, "1700000001.000000 finish status=0\n", "")


def test_wait_event_tells_more_or_less_on_demand(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    assert len(fluxlike("job", "wait-event", "-v", NAME, "finish").lines) == 3
    assert fluxlike("job", "wait-event", "-q", NAME, "finish") == (0, "", "")


def test_wait_event_fails_when_the_job_ends_without_it(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    result = fluxlike("job", "wait-event", NAME, "exception")
    assert result.code == 1
    assert f"{NAME} ended without exception" in result.err


def test_wait_event_gives_up_when_the_time_is_up(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobEvents, lambda request: SILENCE)
    result = fluxlike("job", "wait-event", "-t", "10ms", NAME, "clean")
    assert result == (1, "", "fluxlike: clean did not come within 0.01 s\n")


def test_wait_succeeds_when_all_jobs_do(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobWait, ending(job_record(JOB), job_record(OTHER)))
    assert fluxlike("job", "wait", NAME, OTHER) == (0, "", "")
    assert broker.seen(JobWait)[0].ids == [JOB, OTHER]


def test_wait_tells_of_each_failure_and_exits_with_one(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    failed = job_record(OTHER, result="failed", returncode=3)
    broker.on(JobWait, ending(failed, job_record(JOB)))
    result = fluxlike("job", "wait", NAME, OTHER)
    assert result.code == 1
    assert result.err.endswith(": failed: exit code 3\n")
    assert f"{NAME}: completed\n" in fluxlike("job", "wait", "-v", NAME, OTHER).err


def test_wait_for_all_asks_for_what_is_active(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[pending_record(JOB)]))
    broker.on(JobWait, ending(job_record(JOB)))
    assert fluxlike("job", "wait", "--all").code == 0
    (listing,) = broker.seen(JobList)
    assert (listing.states, listing.limit) == (["active"], 0)


def test_wait_exits_with_two_when_there_is_nothing_to_wait_for(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    def unknown(request: JobWait) -> Iterator[JobEnds]:
        raise NotFound(f"no job has the id {NAME}")

    broker.on(JobWait, unknown)
    broker.on(JobList, lambda request: JobListed(jobs=[]))
    assert fluxlike("job", "wait", NAME).code == 2
    result = fluxlike("job", "wait", "--all")
    assert result.code == 2
    assert "nothing to wait for" in result.err


def test_wait_exits_with_two_when_the_time_is_up(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobWait, lambda request: SILENCE)
    result = fluxlike("job", "wait", "-t", "10ms", NAME, OTHER)
    assert result == (2, "", "fluxlike: 2 of 2 jobs have not ended within 0.01 s\n")


def test_wait_wants_ids_or_all_and_not_both(fluxlike: Fluxlike) -> None:
    assert fluxlike("job", "wait").code == 2
    assert fluxlike("job", "wait", "--all", NAME).code == 2


CANCELED: dict[str, Any] = {
    "result": "canceled",
    "status": -1,
    "returncode": -128,
    "exception_type": "cancel",
    "exception_severity": 0,
    "exception_note": "wrong input",
}


@pytest.mark.parametrize(
    ("fields", "options", "code"),
    [
        ({}, [], 0),
        ({"result": "failed", "returncode": 3}, [], 3),
        ({"result": "failed", "returncode": 143}, [], 143),
        (CANCELED, [], 1),
        (CANCELED, ["-e", "99"], 99),
        (CANCELED, ["-e", "0"], 0),
        ({"result": "timeout", "returncode": 0, "exception_severity": 0}, [], 1),
        ({"result": "failed", "returncode": 3}, ["-e", "99"], 3),
    ],
)
def test_status_exits_as_the_job_did(
    fluxlike: Fluxlike, broker: FakeBroker, fields: dict[str, Any], options: list[str], code: int
) -> None:
    broker.on(JobWait, ending(job_record(JOB, **fields)))
    assert fluxlike("job", "status", *options, NAME) == (code, "", "")


def test_status_of_many_is_the_largest_and_can_be_told(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobWait, ending(job_record(OTHER, **CANCELED), job_record(JOB, result="failed", returncode=3)))
    result = fluxlike("job", "status", "-v", "--json", NAME, OTHER)
    assert result.code == 3
    first, second = json.loads(result.out)
    assert (first["id"], first["returncode"]) == (NAME, 3)
    assert (second["exception_type"], second["exception_note"]) == ("cancel", "wrong input")
    assert result.err.splitlines()[1].endswith(": canceled: cancel wrong input")


def test_attach_shows_output_and_exits_as_the_job(fluxlike: Fluxlike, eventful: FakeBroker) -> None:
    eventful.on(
        OutputRead,
        lambda request: OutputReadReply(records=[[1, "stdout", b"hello\n"]], next=6, done=True),
    )
    eventful.on(JobList, lambda request: JobListed(jobs=[job_record(JOB)]))
    assert fluxlike("job", "attach", "-l", "--read-only", NAME) == (0, "1: hello\n", "")


# -- kill, raise, urgency -----------------------------------------------------------------------------------


def test_kill_sends_a_signal_to_all(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobKill, lambda request: JobsTouched(ids=request.ids, errors=[]))
    assert fluxlike("job", "kill", NAME, OTHER) == (0, "", "")
    assert fluxlike("job", "kill", "-s", "usr1", NAME).code == 0
    assert [(request.ids, request.signum) for request in broker.seen(JobKill)] == [
        ([JOB, OTHER], 15),
        ([JOB], 10),
    ]


def test_each_job_that_refuses_has_its_line(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(
        JobKill,
        lambda request: JobsTouched(
            ids=[],
            errors=[[JOB, "not-found", f"no job {NAME}"], [OTHER, "invalid-transition", "is not running"]],
        ),
    )
    result = fluxlike("job", "kill", NAME, OTHER)
    assert result.code == 1
    assert result.err == f"fluxlike: no job {NAME}\nfluxlike: ƒuZZybuNNz: is not running\n"


def test_raise_carries_type_severity_and_note(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobRaise, lambda request: JobsTouched(ids=request.ids, errors=[]))
    fluxlike("job", "raise", NAME)
    fluxlike("job", "raise", "-s", "3", "-t", "slow", "-m", "step 4", NAME)
    first, second = broker.seen(JobRaise)
    assert (first.type, first.severity, first.note) == ("cancel", 0, "")
    assert (second.ids, second.type, second.severity, second.note) == ([JOB], "slow", 3, "step 4")


@pytest.mark.parametrize("options", [["-s", "8"], ["-s", "-1"], ["-t", ""], ["-t", "two words"]])
def test_raise_refuses_what_no_exception_can_have(fluxlike: Fluxlike, broker: FakeBroker, options: list[str]) -> None:
    assert fluxlike("job", "raise", *options, NAME).code == 2
    assert broker.requests == []


def test_urgency_is_set_by_name_and_number(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(JobUrgency, lambda request: JobUrgencySet(old=16))
    assert fluxlike("job", "urgency", NAME, "hold") == (0, "", "")
    assert fluxlike("job", "urgency", "-v", NAME, "20").out == "urgency 16 -> 20\n"
    assert [request.urgency for request in broker.seen(JobUrgency)] == [0, 20]
    assert fluxlike("job", "urgency", NAME, "32").code == 2
