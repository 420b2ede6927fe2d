"""Dependencies, urgency, time limits, and what may be done to a job from outside."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from fluxlike.errors import FluxlikeError, InvalidRequest
from fluxlike.ids import encode_f58
from fluxlike.testing.instance import Instance
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

WHOLE: dict[str, Any] = {"nnodes": 4, "ntasks": 4, "cores_per_task": 4}
"""A job that leaves no room for another."""


def after(scheme: str, job: int) -> dict[str, Any]:
    return {"dependencies": [{"scheme": scheme, "value": encode_f58(job)}]}


@pytest.mark.parametrize(
    ("scheme", "script", "runs"),
    [
        ("afterok", "true", True),
        ("afterok", "false", False),
        ("afternotok", "false", True),
        ("afternotok", "true", False),
        ("afterany", "true", True),
        ("afterany", "false", True),
        ("afterexcept", "true", False),
    ],
)
def test_a_dependent_job_runs_or_fails_by_the_end_of_the_other(
    flux: Instance, scheme: str, script: str, runs: bool
) -> None:
    first = flux.sh(script, urgency=0)
    second = flux.sh("true", **after(scheme, first))
    assert flux.client.job(second).state == "depend"
    assert encode_f58(first) in flux.client.job(second).reason
    flux.client.urgency(first, 16)
    record = flux.wait(second)
    assert (record.result, record.exception_type) == (("completed", "") if runs else ("failed", "depend"))


def test_a_job_after_the_start_of_another_does_not_wait_for_its_end(flux: Instance) -> None:
    first = flux.sh("sleep 1000", urgency=0)
    second = flux.sh("true", **after("afterstart", first))
    assert flux.client.job(second).state == "depend"
    flux.client.urgency(first, 16)
    assert flux.wait(second).result == "completed"
    assert flux.client.job(first).state == "run"
    flux.client.cancel(first)
    flux.wait(first)


def test_a_line_of_dependent_jobs_runs_in_order(flux: Instance) -> None:
    path = flux.site.root / "order"
    ids = [flux.sh(f"echo 0 >> {path}", urgency=0)]
    for number in range(1, 10):
        ids.append(flux.sh(f"echo {number} >> {path}", **after("afterok", ids[-1])))
    flux.client.urgency(ids[0], 16)
    assert flux.wait(ids[-1]).result == "completed"
    assert path.read_text().split() == [str(number) for number in range(10)]


def test_a_job_does_not_start_before_its_begin_time(flux: Instance) -> None:
    shown = flux.ok("submit", "--begin-time=+1s", "true").strip()
    done = flux.cli("job", "status", shown)
    assert done.returncode == 0
    record = next(job for job in flux.client.jobs() if encode_f58(job.id) == shown)
    assert record.t_run - record.t_submit >= 0.9


def test_a_held_job_starts_when_it_is_released(flux: Instance) -> None:
    job = flux.sh("true", urgency=0)
    assert flux.wait(flux.sh("true")).result == "completed"
    assert (flux.client.job(job).state, flux.client.job(job).reason) == ("sched", "held")
    flux.ok("job", "urgency", encode_f58(job), "default")
    assert flux.wait(job).result == "completed"


def test_the_more_urgent_job_starts_first(flux: Instance) -> None:
    path = flux.site.root / "urgent"
    blocker = flux.sh("sleep 1000", **WHOLE)
    flux.until(blocker, "start")
    jobs = [
        flux.sh(f"[ $FLUX_TASK_RANK != 0 ] || echo {urgency} >> {path}", urgency=urgency, **WHOLE)
        for urgency in (5, 20, 10)
    ]
    last = flux.sh(f"[ $FLUX_TASK_RANK != 0 ] || echo last >> {path}", **WHOLE)
    flux.client.urgency(last, 31)
    flux.client.cancel(blocker)
    assert {record.result for record in flux.client.wait_many([*jobs, last], timeout=30)} == {"completed"}
    assert path.read_text().split() == ["last", "20", "10", "5"]


def test_a_job_over_its_time_limit_ends_as_timeout(flux: Instance) -> None:
    done = flux.cli("run", "-t", "0.5s", "sleep", "1000")
    assert done.returncode == 128 + signal.SIGALRM, done
    assert "timeout" in done.stderr
    record = flux.client.jobs(limit=1)[0]
    assert (record.result, record.exception_type) == ("timeout", "timeout")
    assert 0.4 < record.t_cleanup - record.t_run < 5


def test_a_task_that_ignores_the_end_of_its_time_is_killed(flux: Instance) -> None:
    job = flux.sh("trap '' ALRM TERM; while :; do sleep 0.1; done", duration=0.5)
    record = flux.wait(job)
    assert (record.result, record.returncode) == ("timeout", 128 + signal.SIGKILL)


def test_a_pending_job_can_be_cancelled(flux: Instance) -> None:
    job = flux.sh("true", urgency=0)
    flux.ok("cancel", "-m", "not wanted", encode_f58(job))
    record = flux.wait(job)
    assert (record.result, record.returncode, record.exception_note) == ("canceled", -128, "not wanted")
    assert "alloc" not in flux.events(job)
    assert flux.cli("cancel", encode_f58(job)).returncode == 1


def test_a_running_job_can_be_cancelled(flux: Instance) -> None:
    job = flux.sh("sleep 1000", nnodes=4, ntasks=8)
    flux.until(job, "start")
    flux.ok("cancel", encode_f58(job))
    record = flux.wait(job)
    assert (record.result, record.returncode) == ("canceled", 128 + signal.SIGTERM)


def test_a_job_that_ignores_sigterm_is_killed_soon_after(flux: Instance) -> None:
    job = flux.sh("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    wait_until(lambda: flux.output(job) == b"ready\n")
    flux.client.cancel(job)
    assert flux.wait(job).returncode == 128 + signal.SIGKILL


def test_cancel_all_ends_everything(flux: Instance) -> None:
    jobs = [flux.sh("sleep 1000", **WHOLE), *(flux.sh("sleep 1000") for _ in range(20))]
    flux.until(jobs[0], "start")
    assert "21 jobs" in flux.ok("cancel", "--all")
    assert {record.result for record in flux.client.wait_many(jobs, timeout=20)} == {"canceled"}


def test_a_signal_reaches_every_task(flux: Instance) -> None:
    job = flux.sh("trap 'echo got; exit 7' USR1; echo ready; while :; do sleep 0.05; done", nnodes=4, ntasks=4)
    wait_until(lambda: flux.output(job).count(b"ready\n") == 4, show=lambda: flux.output(job))
    flux.ok("job", "kill", "-s", "USR1", encode_f58(job))
    assert flux.wait(job).returncode == 7
    assert flux.output(job).count(b"got\n") == 4


def test_only_running_jobs_can_be_killed(flux: Instance) -> None:
    job = flux.sh("true", urgency=0)
    done = flux.cli("job", "kill", encode_f58(job))
    assert done.returncode == 1
    assert "not running" in done.stderr
    flux.client.cancel(job)
    with pytest.raises(InvalidRequest):
        flux.client.kill(job, 9999)


def test_a_mild_exception_informs_and_a_severe_one_ends(flux: Instance) -> None:
    job = flux.sh("sleep 1000")
    flux.until(job, "start")
    flux.ok("job", "raise", "-s", "3", "-t", "checkpoint", "-m", "slow", encode_f58(job))
    assert flux.client.job(job).state == "run"
    flux.ok("job", "raise", "-t", "mine", "-m", "wrong input", encode_f58(job))
    record = flux.wait(job)
    assert (record.result, record.exception_type, record.exception_note) == ("failed", "mine", "wrong input")
    assert flux.events(job).count("exception") == 2


def test_urgency_of_an_ended_job_stays(flux: Instance) -> None:
    job = flux.sh("true")
    flux.wait(job)
    with pytest.raises(FluxlikeError):
        flux.client.urgency(job, 5)


def test_a_drained_node_gets_no_new_job_and_keeps_its_old_one(flux: Instance) -> None:
    old = flux.sh("sleep 1000", **WHOLE)
    flux.until(old, "start")
    flux.ok("resource", "drain", "2", "looks odd")
    assert flux.client.job(old).state == "run"
    flux.client.cancel(old)
    flux.wait(old)
    jobs = [flux.sh("true", cores_per_task=4) for _ in range(8)]
    assert all(record.ranks != "2" for record in flux.client.wait_many(jobs, timeout=20))
    waiting = flux.sh("true", **WHOLE)
    assert flux.client.job(waiting).state == "sched"
    flux.ok("resource", "undrain", "2")
    assert flux.wait(waiting).result == "completed"


def test_a_stopped_queue_starts_nothing_until_it_is_started(flux: Instance) -> None:
    flux.ok("queue", "stop", "-m", "for a while")
    job = flux.sh("true")
    assert "for a while" in flux.client.job(job).reason
    flux.ok("queue", "start")
    assert flux.wait(job).result == "completed"
