"""Array jobs with real processes: each task has its own resources, output and end."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fluxlike.client.results import TaskRecord
from fluxlike.errors import FluxlikeError
from fluxlike.ids import encode_f58
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.jobs import JobStats, JobStatsReply
from fluxlike.testing.instance import LOSSY, Instance, Site
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

PATIENT = {"exec.lost-grace": 20, "exec.orphan-timeout": 60}
LIMITS = ("values", "max_running", "max_fails", "key")


def submit(flux: Instance, count: int, script: str, **options: Any) -> int:
    limits = {name: options.pop(name) for name in LIMITS if name in options}
    command = ["/bin/sh", "-c", script]
    spec = from_command(command, cwd=str(flux.site.root), environment={"PATH": flux.site.env["PATH"]}, **options)
    return flux.client.submit_array(spec, count, **limits)


def tasks(flux: Instance, array: int, *states: str) -> list[TaskRecord]:
    return flux.client.tasks(array, states, limit=0)


def key(flux: Instance, array: int, index: int) -> int:
    return int(flux.client.tasks(array, first=index, limit=1)[0].record["id"])


def output(flux: Instance, array: int, index: int) -> str:
    return flux.output(key(flux, array, index)).decode()


def stats(flux: Instance) -> JobStatsReply:
    return flux.client.call(JobStats(), JobStatsReply)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def gate(site: Site, name: str = "go") -> str:
    return f"while [ ! -e {site.root / name} ]; do sleep 0.05; done"


# -- what a task is -----------------------------------------------------------------------------------------------


def test_each_task_has_its_own_output_exit_code_and_environment(flux: Instance) -> None:
    script = "echo {cc} $FLUX_JOB_CC $FLUXLIKE_ARRAY_INDEX $FLUXLIKE_ARRAY_ID; exit $FLUXLIKE_ARRAY_INDEX"
    array = submit(flux, 20, script)
    found = flux.wait(array)
    assert (found.result, found.returncode, found.array) == ("failed", 19, 20)
    assert found.tasks == {"completed": 1, "failed": 19}
    records = tasks(flux, array)
    assert [(row.index, row.returncode) for row in records] == [(index, index) for index in range(20)]
    for index in range(20):
        assert output(flux, array, index) == f"{index} {index} {index} {encode_f58(array)}\n"
    assert all(found.t_submit <= row.t_run <= row.t_inactive for row in records)


def test_values_are_those_that_were_given(flux: Instance) -> None:
    array = submit(flux, 3, "echo {cc} $FLUX_JOB_CC $FLUXLIKE_ARRAY_INDEX", values=["red", "a b", "größe"])
    assert flux.wait(array).result == "completed"
    assert [row.cc for row in tasks(flux, array)] == ["red", "a b", "größe"]
    assert [output(flux, array, index) for index in range(3)] == ["red red 0\n", "a b a b 1\n", "größe größe 2\n"]


def test_output_of_a_running_task_can_be_followed(flux: Instance) -> None:
    array = submit(flux, 2, f"echo first; {gate(flux.site, 'followed')}; echo last")
    data = b""
    for chunk in flux.client.output(key(flux, array, 1)):
        data += chunk.data
        (flux.site.root / "followed").touch()
    assert data == b"first\nlast\n"
    assert flux.wait(array).result == "completed"


def test_tasks_are_spread_over_the_nodes_and_counted_one_by_one(flux: Instance) -> None:
    before = stats(flux)
    array = submit(flux, 30, gate(flux.site, "spread"))
    wait_until(lambda: flux.client.job(array).tasks == {"running": 16, "pending": 14})
    assert {row.ranks for row in tasks(flux, array, "running")} == {"0", "1", "2", "3"}
    counted = stats(flux)
    assert (counted.run - before.run, counted.sched - before.sched) == (16, 14)
    (flux.site.root / "spread").touch()
    flux.wait(array)
    assert stats(flux).completed - before.completed == 30
    assert f"{stats(flux).completed} completed" in flux.cli("jobs", "--stats-only").stdout


def test_never_more_than_max_running_run_at_once(flux: Instance) -> None:
    marks = flux.site.root / "marks"
    marks.mkdir()
    script = f"touch {marks}/{{cc}}; ls {marks} | wc -l; rm {marks}/{{cc}}"
    array = submit(flux, 40, script, max_running=3)
    assert flux.wait(array).result == "completed"
    seen = [int(output(flux, array, index)) for index in range(40)]
    assert 1 <= max(seen) <= 3


def test_more_failures_than_allowed_end_the_rest(flux: Instance) -> None:
    array = submit(flux, 100, "exit 7", max_fails=4, max_running=1)
    found = flux.wait(array)
    assert (found.result, found.exception_type) == ("failed", "max-fails")
    assert found.tasks["failed"] == 5
    records = tasks(flux, array)
    assert Counter(row.result for row in records) == {"failed": 5, "canceled": 95}


# -- ending it ----------------------------------------------------------------------------------------------------


def test_array_is_cancelled_while_it_runs(flux: Instance) -> None:
    array = submit(flux, 40, "sleep 100")
    wait_until(lambda: flux.client.job(array).tasks == {"running": 16, "pending": 24})
    flux.client.cancel(array, "enough")
    found = flux.wait(array)
    assert (found.result, found.exception_note) == ("canceled", "enough")
    results = Counter((row.result, row.returncode) for row in tasks(flux, array))
    assert results[("failed", 143)] + results[("canceled", -128)] == 40
    assert results[("canceled", -128)] == 24


def test_array_is_cancelled_while_it_waits(flux: Instance) -> None:
    flux.ok("queue", "stop")
    array = submit(flux, 10, "true")
    flux.client.cancel(array)
    assert flux.wait(array).result == "canceled"
    assert {row.result for row in tasks(flux, array)} == {"canceled"}
    flux.ok("queue", "start")


def test_one_task_is_cancelled_running_or_waiting(flux: Instance) -> None:
    array = submit(flux, 20, gate(flux.site, "one"))
    wait_until(lambda: flux.client.job(array).tasks == {"running": 16, "pending": 4})
    wait_until(lambda: tasks(flux, array)[3].state == "run")
    flux.client.cancel([key(flux, array, 3), key(flux, array, 18)])
    wait_until(lambda: tasks(flux, array)[3].result == "failed")
    assert tasks(flux, array)[18].result == "canceled"
    (flux.site.root / "one").touch()
    found = flux.wait(array)
    assert (found.result, found.tasks) == ("failed", {"completed": 18, "failed": 1, "canceled": 1})
    with pytest.raises(FluxlikeError, match="inactive"):
        flux.client.cancel(key(flux, array, 3))


def test_signal_reaches_one_task_or_all_that_run(flux: Instance) -> None:
    array = submit(flux, 3, "trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done")
    wait_until(lambda: all(output(flux, array, index) == "ready\n" for index in range(3)))
    flux.client.kill(key(flux, array, 1), signal.SIGUSR1)
    wait_until(lambda: tasks(flux, array)[1].returncode == 5)
    assert [row.state for row in tasks(flux, array)] == ["run", "inactive", "run"]
    flux.client.kill(array, signal.SIGUSR1)
    assert flux.wait(array).tasks == {"failed": 3}
    assert [row.returncode for row in tasks(flux, array)] == [5, 5, 5]


def test_time_limit_ends_a_task_and_not_the_others(flux: Instance) -> None:
    array = submit(flux, 3, "[ {cc} = 1 ] && sleep 100; exit 0", duration=1.0)
    found = flux.wait(array)
    assert found.tasks == {"completed": 2, "failed": 1}
    assert tasks(flux, array)[1].returncode == 128 + signal.SIGALRM


def test_command_that_does_not_exist_fails_each_task(flux: Instance) -> None:
    spec = from_command(["/no/such/command"], cwd="/")
    array = flux.client.submit_array(spec, 3)
    found = flux.wait(array)
    assert (found.result, found.tasks) == ("failed", {"failed": 3})


# -- with others --------------------------------------------------------------------------------------------------


def test_dependency_waits_for_all_tasks(flux: Instance) -> None:
    array = submit(flux, 3, f"[ {{cc}} = 2 ] && {{ {gate(flux.site, 'dep')}; }}; exit 0")
    good = flux.submit("true", dependencies=[{"scheme": "afterok", "value": encode_f58(array)}])
    wait_until(lambda: flux.client.job(array).tasks.get("completed") == 2)
    assert flux.client.job(good).state == "depend"
    (flux.site.root / "dep").touch()
    assert flux.wait(good).result == "completed"
    bad = submit(flux, 3, "[ {cc} != 1 ]")
    never = flux.submit("true", dependencies=[{"scheme": "afterok", "value": encode_f58(bad)}])
    instead = flux.submit("true", dependencies=[{"scheme": "afternotok", "value": encode_f58(bad)}])
    assert flux.wait(never).exception_type == "depend"
    assert flux.wait(instead).result == "completed"


def test_drained_node_gets_no_task(flux: Instance) -> None:
    flux.ok("resource", "drain", "1-2")
    array = submit(flux, 20, gate(flux.site, "drained"))
    wait_until(lambda: flux.client.job(array).tasks == {"running": 8, "pending": 12})
    assert {row.ranks for row in tasks(flux, array, "running")} == {"0", "3"}
    flux.ok("resource", "undrain", "1-2")
    wait_until(lambda: flux.client.job(array).tasks == {"running": 16, "pending": 4})
    (flux.site.root / "drained").touch()
    assert flux.wait(array).result == "completed"


def test_same_key_gives_the_same_array(flux: Instance) -> None:
    before = stats(flux).completed
    arrays = {submit(flux, 5, "true", key="only once") for _ in range(3)}
    assert len(arrays) == 1
    flux.wait(arrays.pop())
    assert stats(flux).completed - before == 5


# -- faults -------------------------------------------------------------------------------------------------------


def test_killed_root_runs_each_task_exactly_once(site: Site) -> None:
    flux = site.start(2, statedir="state", sets=PATIENT)
    path = site.root / "ran"
    script = f"echo {{cc}} >> {path}; [ {{cc}} -lt 4 ] && {{ {gate(site)}; }}; echo end of {{cc}}"
    array = submit(flux, 300, script)
    for number in (20, 100):
        wait_until(lambda at=number: len(lines(path)) >= at)  # type: ignore[misc]
        flux.kill_broker(0)
        flux = site.start(2, statedir="state", sets=PATIENT)
    (site.root / "go").touch()
    found = flux.wait(array, timeout=60)
    assert (found.result, found.tasks) == ("completed", {"completed": 300})
    assert sorted(map(int, lines(path))) == list(range(300))
    assert all(output(flux, array, index) == f"end of {index}\n" for index in range(0, 300, 7))
    counted = stats(flux)
    assert (counted.inactive, counted.completed, counted.run, counted.sched) == (300, 300, 0, 0)
    before = [row.record for row in tasks(flux, array)]
    flux.kill_broker(0)
    flux = site.start(2, statedir="state", sets=PATIENT)
    assert [row.record for row in tasks(flux, array)] == before
    assert flux.client.job(array).tasks == {"completed": 300}
    assert stats(flux).completed == 300


def test_lost_leaf_fails_its_tasks_and_the_others_go_on(site: Site) -> None:
    flux = site.start(3, statedir="state", sets=LOSSY)
    array = submit(flux, 20, gate(site))
    wait_until(lambda: flux.client.job(array).tasks == {"running": 12, "pending": 8})
    on_leaf = [row.index for row in tasks(flux, array, "running") if row.ranks == "2"]
    assert len(on_leaf) == 4
    executor = flux.executor(2)
    flux.kill_broker(2)
    flux.kill(executor)
    wait_until(lambda: flux.client.job(array).tasks.get("failed") == 4, show=lambda: flux.client.job(array).tasks)
    (site.root / "go").touch()
    found = flux.wait(array)
    assert (found.result, found.tasks) == ("failed", {"completed": 16, "failed": 4})
    assert [row.index for row in tasks(flux, array, "failed")] == on_leaf


def test_leaf_that_comes_back_has_its_tasks_still(site: Site) -> None:
    sets = {**LOSSY, "exec.lost-grace": 20, "exec.orphan-timeout": 30}
    flux = site.start(3, statedir="state", sets=sets)
    path = site.root / "ran"
    array = submit(flux, 12, f"echo {{cc}} >> {path}; {gate(site)}")
    wait_until(lambda: len(lines(path)) == 12)
    flux.kill_broker(2)
    wait_until(lambda: flux.health()[2] == "lost", show=flux.health)
    assert flux.start_rank(2, sets).returncode == 0
    flux.settle()
    (site.root / "go").touch()
    assert flux.wait(array).tasks == {"completed": 12}
    assert sorted(map(int, lines(path))) == list(range(12))


def test_tasks_that_waited_when_the_instance_ended_run_after_the_next_start(site: Site) -> None:
    flux = site.start(1, statedir="state", sets=PATIENT)
    path = site.root / "ran"
    array = submit(flux, 10, f"echo {{cc}} >> {path}; {gate(site)}")
    wait_until(lambda: len(lines(path)) == 4)
    flux.hang_up()
    assert flux.cli("shutdown", timeout=8).returncode == 0, "waits for tasks that will not run"
    wait_until(lambda: not site.processes())
    assert sorted(map(int, lines(path))) == [0, 1, 2, 3]
    (site.root / "go").touch()
    flux = site.start(1, statedir="state", sets=PATIENT)
    found = flux.wait(array)
    assert found.tasks == {"completed": 6, "failed": 4}
    assert sorted(map(int, lines(path))) == list(range(10))
    assert [row.index for row in tasks(flux, array, "failed")] == [0, 1, 2, 3]


def test_large_array_on_executors_that_run_nothing(site: Site) -> None:
    flux = site.start(1, statedir="state", sets={"exec.mode": "null", "resource.cores": 64})
    array = submit(flux, 20_000, "true")
    found = flux.wait(array, timeout=60)
    assert (found.result, found.tasks) == ("completed", {"completed": 20_000})
    assert len(tasks(flux, array)) == 20_000
    assert stats(flux).completed == 20_000
    assert flux.client.purge([array]) == 1
    assert stats(flux).inactive == 0
