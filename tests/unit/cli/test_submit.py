from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fluxlike.ids import encode_f58
from fluxlike.protocol.jobs import JobEnds, JobWait, Submit
from fluxlike.testing.fake_broker import FakeBroker
from fluxlike.testing.records import job_record
from tests.unit.cli.conftest import JOB, JOB_TEXT, Command, life, play


def test_the_id_is_printed(fluxlike: Command) -> None:
    result = fluxlike("submit", "true")
    assert (result.code, result.out, result.err) == (0, f"{JOB_TEXT}\n", "")


def test_ids_in_json_are_text_in_two_forms(fluxlike: Command) -> None:
    result = fluxlike("submit", "--json", "true")
    assert json.loads(result.out) == {"jobs": [{"id": JOB_TEXT, "jobid": str(JOB)}]}


def test_quiet_prints_nothing(fluxlike: Command) -> None:
    assert fluxlike("submit", "--quiet", "true").out == ""


def test_urgency_and_flags_travel_with_the_request(broker: FakeBroker, fluxlike: Command) -> None:
    fluxlike("submit", "--urgency=hold", "--flags=debug,waitable", "--flags=debug", "true")
    (request,) = broker.seen(Submit)
    assert (request.urgency, request.flags) == (0, ["debug", "waitable"])


def test_copies_are_one_template_in_one_message(broker: FakeBroker, fluxlike: Command) -> None:
    result = fluxlike("submit", "--cc=1-500", "echo", "{cc}")
    (request,) = broker.seen(Submit)
    (spec,) = request.specs
    assert spec["tasks"][0]["command"] == ["echo", "{cc}"]
    assert request.jobs == [[0, str(number)] for number in range(1, 501)]
    assert result.out.splitlines() == [encode_f58(JOB + number) for number in range(500)]


def test_blind_copies_carry_no_cc_value(broker: FakeBroker, fluxlike: Command) -> None:
    fluxlike("submit", "--bcc=7,9", "--env=A=x{cc}", "echo", "{cc}")
    (request,) = broker.seen(Submit)
    assert [spec["tasks"][0]["command"] for spec in request.specs] == [["echo", "7"], ["echo", "9"]]
    assert [spec["attributes"]["system"]["environment"]["A"] for spec in request.specs] == ["x7", "x9"]
    assert request.jobs == [[0, None], [1, None]]


def test_wait_exits_with_the_highest_code_and_tells_of_failures(broker: FakeBroker, fluxlike: Command) -> None:
    def ends(request: JobWait) -> Iterator[JobEnds]:
        yield JobEnds(jobs=[job_record(JOB + 1, result="failed", returncode=3)])
        yield JobEnds(jobs=[job_record(JOB), job_record(JOB + 2, result="failed", returncode=139)])

    broker.on(JobWait, ends)
    result = fluxlike("submit", "--cc=0-2", "--wait", "app")
    assert result.code == 139
    assert result.err.splitlines() == [
        f"fluxlike: {encode_f58(JOB + 1)}: failed: exit code 3",
        f"fluxlike: {encode_f58(JOB + 2)}: failed: signal 11",
    ]


def test_a_job_cancelled_before_it_ran_is_no_success(broker: FakeBroker, fluxlike: Command) -> None:
    record = job_record(JOB, result="canceled", returncode=-128, exception_note="not now")
    broker.on(JobWait, lambda request: iter([JobEnds(jobs=[record])]))
    result = fluxlike("submit", "--wait", "app")
    assert (result.code, result.err) == (1, f"fluxlike: {JOB_TEXT}: canceled: not now\n")


def test_watch_writes_the_output_of_one_job_as_it_is(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[0, "stdout", b"no end of line"]])
    broker.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(JOB)])]))
    result = fluxlike("submit", "--quiet", "--watch", "app")
    assert (result.code, result.out) == (0, "no end of line")


def test_watch_labels_the_lines_of_several_jobs(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life(), [[0, "stdout", b"a\nb"], [1, "stderr", b"c\n"]])
    broker.on(JobWait, lambda request: iter([JobEnds(jobs=[job_record(id) for id in request.ids])]))
    result = fluxlike("submit", "--quiet", "--watch", "-l", "--cc=0-99", "app")
    names = [encode_f58(JOB + number) for number in range(100)]
    assert sorted(result.out.splitlines()) == sorted(f"{name}: 0: {line}" for name in names for line in "ab")
    assert sorted(result.err.splitlines()) == sorted(f"{name}: 1: c" for name in names)


def test_wait_event_returns_once_all_have_had_it(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life())
    assert fluxlike("submit", "--cc=0-1", "--wait-event=start", "app").code == 0


def test_wait_event_fails_for_a_job_that_ends_without_it(broker: FakeBroker, fluxlike: Command) -> None:
    play(broker, life())
    result = fluxlike("submit", "--wait-event=strat", "app")
    assert (result.code, result.err) == (1, f"fluxlike: {JOB_TEXT} has ended without strat\n")


@pytest.mark.parametrize("option", ["--wait", "--watch"])
def test_interrupted_waiting_ends_with_130_and_leaves_the_jobs(
    broker: FakeBroker, fluxlike: Command, option: str
) -> None:
    play(broker, life())

    def interrupt(request: JobWait) -> None:
        import _thread

        _thread.interrupt_main()

    broker.on(JobWait, interrupt)
    assert fluxlike("submit", option, "app").code == 130
    assert {message.topic for message in broker.requests} <= {"job.submit", "job.wait", "output.read"}
