"""Array jobs, step by step; what any order of steps must keep is in test_any_array_history.py."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from scenario_stage.world import World

from fluxlike.jobspec.build import from_command
from fluxlike.protocol.internal import JobReports, JobsEnded, StopJobs
from fluxlike.protocol.jobs import (
    JobKill,
    JobList,
    JobPurge,
    JobRaise,
    JobStats,
    JobTasks,
    QueueStart,
    QueueStop,
    Submit,
    SubmitArray,
)
from fluxlike_broker.modules.job_manager import purge

CORES = 4


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.nodes = [(0, "node0", (1 << CORES) - 1, 0, True)]
    made.tell_nodes()
    yield made
    told(made)
    made.close()


def ask(world: World, payload: Any) -> Any:
    """The answer, or the code and text of the error."""
    answer = world.client.answered[world.ask(payload)]
    return answer.error or answer.body


def submit(world: World, count: int, **options: Any) -> int:
    limits = {name: options.pop(name) for name in ("max_running", "max_fails", "values") if name in options}
    (array,) = ask(world, SubmitArray(spec=from_command(["true"], **options), count=count, **limits)).ids
    return int(array)


def after(world: World, array: int, scheme: str) -> int:
    spec = from_command(["true"], dependencies=[{"scheme": scheme, "value": str(array)}])
    (job,) = ask(world, Submit(specs=[spec], jobs=[[0, None]])).ids
    return int(job)


def key(world: World, name: str) -> int:
    return world.tape.id_of(name)


def report(world: World, *rows: tuple[str, str, Any]) -> Any:
    now = world.clock.now()
    return ask(world, JobReports(rows=[(key(world, name), what, now, context) for name, what, context in rows]))


def finish(world: World, *names: str, status: int = 0) -> None:
    report(world, *((name, "finish", {"status": status}) for name in names))


def told(world: World) -> list[str]:
    """What happened since the last look, errors that nobody answers for not being among it."""
    lines = world.tape.take()
    assert not [line for line in lines if line.startswith(("BROKEN", "log error"))]
    return lines


def launched(world: World) -> list[str]:
    """Tasks that were started since the last look."""
    return [line.split()[1] for line in told(world) if line.startswith("launch")]


def record(world: World, job: int) -> dict[str, Any]:
    (found,) = ask(world, JobList(ids=[job])).jobs
    return dict(found)


def tasks(world: World, array: int, *states: str) -> list[dict[str, Any]]:
    return list(ask(world, JobTasks(id=array, states=list(states))).tasks)


def stats(world: World) -> dict[str, int]:
    return {name: count for name, count in ask(world, JobStats()).to_wire().items() if count}


def usage(world: World) -> int:
    return world.manager._board.scheduler.usage(0)[0].bit_count()


# -- running ------------------------------------------------------------------------------------------------------


def test_tasks_get_resources_one_by_one_as_others_end(world: World) -> None:
    array = submit(world, 6)
    assert launched(world) == ["j1.0", "j1.1", "j1.2", "j1.3"]
    finish(world, "j1.1", "j1.2")
    assert launched(world) == ["j1.4", "j1.5"]
    assert record(world, array)["state"] == "run"
    finish(world, "j1.0", "j1.3", "j1.4", "j1.5")
    found = record(world, array)
    assert (found["state"], found["result"], found["tasks"]) == ("inactive", "completed", {"completed": 6})


def test_never_more_than_max_running_hold_resources(world: World) -> None:
    submit(world, 5, max_running=2)
    assert launched(world) == ["j1.0", "j1.1"]
    finish(world, "j1.0")
    assert launched(world) == ["j1.2"]
    finish(world, "j1.1", "j1.2")
    assert launched(world) == ["j1.3", "j1.4"]


def test_others_run_beside_an_array_that_may_not_take_all(world: World) -> None:
    submit(world, 5, max_running=1)
    (job,) = ask(world, Submit(specs=[from_command(["true"])], jobs=[[0, None]])).ids
    assert launched(world) == ["j1.0", "j2"]
    assert record(world, job)["state"] == "run"


def test_more_failed_tasks_than_allowed_end_the_rest(world: World) -> None:
    array = submit(world, 10, max_fails=1)
    finish(world, "j1.0", status=256)
    assert record(world, array)["state"] == "run"
    told(world)
    finish(world, "j1.1", status=256)
    ended = {line for line in told(world) if line.startswith("end ")}
    assert ended == {"end j1.2 SIGTERM", "end j1.3 SIGTERM", "end j1.4 SIGTERM"}
    finish(world, "j1.2", "j1.3", "j1.4", status=15)
    found = record(world, array)
    assert (found["result"], found["exception_type"]) == ("failed", "max-fails")
    assert found["exception_note"] == "2 tasks failed, 1 are allowed"
    assert {row["result"] for row in tasks(world, array)[5:]} == {"canceled"}
    assert stats(world) == {"inactive": 10, "failed": 5, "canceled": 5}
    assert usage(world) == 0


def test_time_limit_is_that_of_each_task(world: World) -> None:
    submit(world, 5, duration=30.0)
    world.advance(20.0)
    finish(world, "j1.0")
    told(world)
    world.advance(11.0)
    assert [line for line in told(world) if line.startswith("end")] == [
        f"end j1.{index} SIGALRM" for index in (1, 2, 3)
    ]
    world.advance(20.0)
    assert [line for line in told(world) if line.startswith("end")] == ["end j1.4 SIGALRM"]


def test_task_that_cannot_be_executed_fails_and_the_others_go_on(world: World) -> None:
    array = submit(world, 2)
    report(world, ("j1.0", "exception", {"type": "exec", "severity": 0, "note": "no such command"}))
    finish(world, "j1.0", status=127 << 8)
    finish(world, "j1.1")
    found = record(world, array)
    assert (found["result"], found["tasks"]) == ("failed", {"completed": 1, "failed": 1})


def test_news_that_a_task_could_not_be_executed_is_taken_while_the_array_ends(world: World) -> None:
    array = submit(world, 2)
    ask(world, JobRaise(ids=[array]))
    answer = report(world, ("j1.0", "exception", {"type": "exec", "severity": 0, "note": "no such command"}))
    assert not isinstance(answer, tuple), answer
    finish(world, "j1.0", "j1.1", status=15)
    assert record(world, array)["result"] == "canceled"


# -- cancelling ---------------------------------------------------------------------------------------------------


def test_cancelled_whole_while_pending_no_task_is_started(world: World) -> None:
    world.nodes = []
    blocker = submit(world, 4)
    array = submit(world, 3)
    launched(world)
    ask(world, JobRaise(ids=[array]))
    assert record(world, array)["result"] == "canceled"
    assert [row["result"] for row in tasks(world, array)] == ["canceled"] * 3
    finish(world, "j1.0", "j1.1", "j1.2", "j1.3")
    assert launched(world) == []
    assert record(world, blocker)["result"] == "completed"
    assert stats(world) == {"inactive": 7, "completed": 4, "canceled": 3}


def test_cancelled_whole_while_running_the_last_task_ends_it(world: World) -> None:
    array = submit(world, 6)
    ask(world, JobRaise(ids=[array], note="enough"))
    finish(world, "j1.0", "j1.1", "j1.2", status=15)
    assert record(world, array)["state"] == "cleanup"
    finish(world, "j1.3", status=15)
    assert record(world, array)["result"] == "canceled"
    assert usage(world) == 0
    assert stats(world) == {"inactive": 6, "failed": 4, "canceled": 2}


def test_one_pending_task_is_cancelled_and_only_it(world: World) -> None:
    array = submit(world, 6)
    ask(world, JobRaise(ids=[key(world, "j1.4")]))
    finish(world, "j1.0", "j1.1", "j1.2", "j1.3")
    assert "j1.4" not in launched(world)
    finish(world, "j1.5")
    assert record(world, array)["tasks"] == {"completed": 5, "canceled": 1}


def test_one_running_task_is_cancelled_and_only_it(world: World) -> None:
    array = submit(world, 2)
    told(world)
    ask(world, JobRaise(ids=[key(world, "j1.0")]))
    assert [line for line in told(world) if line.startswith("end")] == ["end j1.0 SIGTERM"]
    finish(world, "j1.0", status=15)
    assert record(world, array)["state"] == "run"


def test_task_that_is_over_cannot_be_cancelled(world: World) -> None:
    submit(world, 2)
    finish(world, "j1.0")
    touched = ask(world, JobRaise(ids=[key(world, "j1.0")]))
    assert touched.ids == []
    assert touched.errors[0][2].endswith(".0 is over")


def test_cancelled_one_by_one_the_array_ends(world: World) -> None:
    world.nodes = [(0, "node0", (1 << CORES) - 1, 0, False)]
    world.tell_nodes()
    array = submit(world, 3)
    ask(world, JobRaise(ids=[key(world, f"j1.{index}") for index in range(3)]))
    assert record(world, array)["result"] == "canceled"
    assert stats(world) == {"inactive": 3, "canceled": 3}


def test_signal_goes_to_the_tasks_that_run(world: World) -> None:
    array = submit(world, 6)
    told(world)
    ask(world, JobKill(ids=[array], signum=int(signal.SIGUSR1)))
    assert {line for line in told(world) if line.startswith("signal")} == {
        f"signal j1.{index} SIGUSR1" for index in range(4)
    }
    ask(world, JobKill(ids=[key(world, "j1.2")], signum=int(signal.SIGUSR2)))
    assert [line for line in told(world) if line.startswith("signal")] == ["signal j1.2 SIGUSR2"]
    assert ask(world, JobKill(ids=[key(world, "j1.5")])).errors[0][2].endswith("is not running")


# -- dependencies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "met"), [(0, True), (256, False)])
def test_dependency_on_an_array_is_on_all_of_its_tasks(world: World, status: int, met: bool) -> None:
    array = submit(world, 3)
    job = after(world, array, "afterok")
    finish(world, "j1.0", "j1.1")
    assert record(world, job)["state"] == "depend"
    finish(world, "j1.2", status=status)
    assert record(world, job)["state"] == ("run" if met else "inactive")


def test_array_with_a_cancelled_task_did_not_end_well(world: World) -> None:
    array = submit(world, 6)
    job = after(world, array, "afterok")
    ask(world, JobRaise(ids=[key(world, "j1.5")]))
    finish(world, "j1.0", "j1.1", "j1.2", "j1.3")
    finish(world, "j1.4")
    assert record(world, array)["result"] == "failed"
    assert record(world, job)["result"] == "failed"


# -- the end of an instance, and of a rank 0 ----------------------------------------------------------------------


def test_instance_that_ends_waits_for_the_tasks_that_run_and_leaves_the_others(world: World) -> None:
    array = submit(world, 6)
    told(world)
    tag = world.ask(StopJobs(all=False))
    assert [line for line in told(world) if line.startswith("end")] == [f"end j1.{index} SIGTERM" for index in range(4)]
    finish(world, "j1.0", "j1.1", "j1.2", status=15)
    assert tag not in world.client.answered
    finish(world, "j1.3", status=15)
    assert isinstance(world.client.answered[tag].body, JobsEnded)
    world.restart()
    world.tell_nodes()
    assert launched(world) == ["j1.4", "j1.5"]
    finish(world, "j1.4", "j1.5")
    assert record(world, array)["tasks"] == {"completed": 2, "failed": 4}


def test_restart_looks_for_running_tasks_and_starts_the_others_later(world: World) -> None:
    submit(world, 6)
    report(world, ("j1.0", "start", None))
    before = stats(world)
    told(world)
    world.restart()
    assert stats(world) == before == {"sched": 2, "run": 4}
    world.tell_nodes()
    found = [line for line in told(world) if line.startswith(("look for", "launch"))]
    assert [" ".join(line.split()[:3]) for line in found] == [f"look for j1.{index}" for index in range(4)]
    assert found[0].endswith(" started")
    finish(world, "j1.0")
    assert launched(world) == ["j1.4"]


def test_array_that_is_cancelled_after_a_restart_between_two_tasks_leaves_the_queue(world: World) -> None:
    array = submit(world, 3, max_running=1)
    ask(world, QueueStop())
    finish(world, "j1.0")
    world.restart()
    world.tell_nodes()
    told(world)
    ask(world, JobRaise(ids=[array]))
    ask(world, QueueStart())
    assert launched(world) == []
    assert record(world, array)["result"] == "canceled"
    assert stats(world) == {"inactive": 3, "completed": 1, "canceled": 2}


def test_tasks_that_end_before_the_store_refuses_their_array_are_not_counted(world: World) -> None:
    world.by_hand = True
    world.ask(SubmitArray(spec=from_command(["true"], duration=10.0), count=6))
    world.advance(11.0)
    world.ask(JobRaise(ids=[key(world, "j1.5")]))
    world.disk.broken = "disk is full"
    world.by_hand = False
    world.settle()
    assert stats(world) == {}
    assert usage(world) == 0


def test_store_that_fails_at_the_submission_gets_no_core_lost(world: World) -> None:
    world.disk.broken = "disk is full"
    error = ask(world, SubmitArray(spec=from_command(["true"]), count=3))
    assert error[0] == "store-unavailable"
    assert usage(world) == 0
    assert stats(world) == {}
    world.disk.broken = None
    world.do(world.store.retry)
    submit(world, 5)
    assert len(launched(world)) == CORES


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"count": 0}, "an array has 1 to 10000000 tasks, not 0"),
        ({"count": 10_000_001}, "an array has 1 to 10000000 tasks, not 10000001"),
        ({"count": 2, "values": ["a"]}, "1 values for 2 tasks"),
        ({"count": 2, "max_running": -1}, "max_running is -1; 0 is no limit"),
    ],
)
def test_array_that_makes_no_sense_is_refused(world: World, fields: dict[str, Any], text: str) -> None:
    code, message = ask(world, SubmitArray(spec=from_command(["true"]), **fields))
    assert code == "invalid"
    assert text in message
    assert stats(world) == {}


def test_tasks_of_an_ordinary_job_are_refused(world: World) -> None:
    (job,) = ask(world, Submit(specs=[from_command(["true"])], jobs=[[0, None]])).ids
    assert "is not an array" in ask(world, JobTasks(id=job))[1]


def test_same_key_again_is_the_same_array(world: World) -> None:
    request = SubmitArray(spec=from_command(["true"]), count=3, key="once")
    first = ask(world, request).ids
    assert ask(world, request).ids == first
    world.restart()
    world.tell_nodes()
    assert ask(world, request).ids == first
    assert stats(world) == {"run": 3}


# -- purging ------------------------------------------------------------------------------------------------------


def ended_jobs(world: World, count: int) -> list[int]:
    ids: list[int] = ask(world, Submit(specs=[from_command(["true"])], jobs=[[0, None]] * count)).ids
    for job in ids:
        ask(world, JobReports(rows=[(job, "finish", world.clock.now(), {"status": 0})]))
    return ids


def test_purged_array_takes_its_tasks_out_of_the_count(world: World) -> None:
    array = submit(world, 3)
    finish(world, "j1.0", "j1.1", status=256)
    finish(world, "j1.2")
    (job,) = ended_jobs(world, 1)
    assert ask(world, JobPurge(ids=[array])).count == 1
    assert stats(world) == {"inactive": 1, "completed": 1}
    world.restart()
    assert stats(world) == {"inactive": 1, "completed": 1}
    assert record(world, job)["result"] == "completed"


def test_active_jobs_are_not_purged(world: World) -> None:
    array = submit(world, 3)
    (done,) = ended_jobs(world, 1)
    error = ask(world, JobPurge(ids=[done, array]))
    assert error[0] == "invalid"
    assert error[1].endswith("is active: cancel it first")
    assert record(world, done)["result"] == "completed"
    assert ask(world, JobPurge(ids=[done + 1]))[0] == "not-found"


def test_dry_run_counts_and_forgets_nothing(world: World) -> None:
    ended_jobs(world, 4)
    assert ask(world, JobPurge(num=1, dry_run=True)).count == 3
    assert stats(world) == {"inactive": 4, "completed": 4}
    assert ask(world, JobPurge(num=1)).count == 3
    assert stats(world) == {"inactive": 1, "completed": 1}


def test_purge_by_age_spares_the_young(world: World) -> None:
    ended_jobs(world, 2)
    world.advance(100.0)
    young = ended_jobs(world, 2)
    world.advance(10.0)
    assert ask(world, JobPurge(age=50.0)).count == 2
    assert [job["id"] for job in ask(world, JobList(states=["inactive"])).jobs] == young[::-1]


def test_purge_must_say_what(world: World) -> None:
    assert "say which" in ask(world, JobPurge())[1]


def test_two_purges_at_once_count_each_job_once(world: World) -> None:
    ended_jobs(world, 4)
    world.by_hand = True
    tags = [world.ask(JobPurge(num=0)), world.ask(JobPurge(num=0))]
    world.by_hand = False
    world.settle()
    assert [world.client.answered[tag].body.count for tag in tags] == [4, 0]
    assert stats(world) == {}


def test_store_that_fails_in_the_middle_of_a_purge_leaves_the_counts_right(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "AT_ONCE", 2)
    ids = ended_jobs(world, 5)
    world.by_hand = True
    tag = world.ask(JobPurge(num=0))
    world.commit()  # they are found
    world.commit()  # two are forgotten
    world.disk.broken = "disk is full"
    world.commit()
    assert world.client.answered[tag].error is not None
    world.disk.broken = None
    world.by_hand = False
    world.do(world.store.retry)
    assert stats(world) == {"inactive": 3, "completed": 3}
    assert [job["id"] for job in ask(world, JobList(states=["inactive"])).jobs] == ids[:1:-1]
    world.restart()
    assert stats(world) == {"inactive": 3, "completed": 3}


def test_history_is_kept_within_its_limits(world: World) -> None:
    made: list[purge.Purge] = []
    world.do(lambda: made.append(purge.Purge(world.manager._board, age_limit=1000.0, num_limit=3)))
    ended_jobs(world, 5)
    world.advance(purge.INTERVAL + 1)
    assert stats(world) == {"inactive": 3, "completed": 3}
    world.advance(1000.0)
    assert stats(world) == {}
    made[0].close()
