"""What is too long or too odd to be told as a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scenario_stage.world import BEGAN, World

from fluxlike.ids import nth_after
from fluxlike.job.states import State
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.internal import JobReports
from fluxlike.protocol.jobs import JobRaise, Submit, SubmitArray
from fluxlike_broker.modules.job_manager.board import BREATH, MANY_RUNNING


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.nodes = [(0, "node0", 0xF, 0, True)]
    made.tell_nodes()
    yield made
    made.close()


def submit(world: World, spec: Any, copies: int = 1) -> list[int]:
    tag = world.ask(Submit(specs=[spec], jobs=[[0, None]] * copies))
    ids: list[int] = world.client.answered[tag].body.ids
    return ids


def states(world: World) -> set[State]:
    return {job.state for job in world.manager._board.jobs.values()}


@pytest.mark.parametrize("scheme", ["afterok", "afternotok"])
def test_long_line_of_dependants_ends_with_the_job_it_waits_for(world: World, scheme: str) -> None:
    (first,) = submit(world, from_command(["sleep"], dependencies=[{"scheme": "begin-time", "value": "1e12"}]))
    last = first
    for _ in range(1500):
        dependency = {"scheme": scheme, "value": str(last)}
        (last,) = submit(world, from_command(["true"], ntasks=4, dependencies=[dependency]))
    world.tape.take()
    world.ask(JobRaise(ids=[first]))
    assert not [line for line in world.tape.take() if line.startswith(("BROKEN", "log"))]
    if scheme == "afterok":
        assert states(world) == {State.INACTIVE}
    else:
        assert states(world) == {State.INACTIVE, State.RUN, State.DEPEND}


def test_thousands_of_jobs_are_allocated_in_portions_and_all_of_them(world: World) -> None:
    world.nodes = [(rank, f"node{rank}", (1 << 100) - 1, 0, True) for rank in range(10)]
    world.tell_nodes()
    ids = submit(world, from_command(["true"]), copies=1000)
    world.advance(1.0)
    launched = [line.split()[1] for line in world.tape.take() if line.startswith("launch")]
    assert launched == [world.tape.called(job_id) for job_id in ids]


def test_ids_kept_for_the_tasks_of_an_array_are_given_to_nobody_after_a_restart(world: World) -> None:
    count = 5000  # more than a millisecond has ids for
    tag = world.ask(SubmitArray(spec=from_command(["true"]), count=count))
    (array,) = world.client.answered[tag].body.ids
    world.restart()
    world.tell_nodes()
    (later,) = submit(world, from_command(["true"]))
    assert later > nth_after(array, count)


def test_news_of_many_running_jobs_share_a_commit(world: World) -> None:
    world.nodes = [(0, "node0", (1 << MANY_RUNNING) - 1, 0, True)]
    world.tell_nodes()
    ids = submit(world, from_command(["true"]), copies=MANY_RUNNING)
    world.advance(1.0)
    world.tape.take()
    tags = []
    for job_id in ids[:3]:
        tags.append(world.ask(JobReports(rows=[(job_id, "start", world.clock.now(), None)])))
        world.advance(BREATH / 4)
    world.advance(BREATH)
    assert world.tape.take().count("commit") == 2, "the first at once, the others together"
    assert all(tag in world.client.answered for tag in tags)


def test_two_begin_times_that_are_one_are_both_over_at_once(world: World) -> None:
    when = BEGAN + 10
    times = [{"scheme": "begin-time", "value": text} for text in (f"{when:.1f}", f"{when:.3f}", f"{when:.0f}")]
    submit(world, from_command(["true"], dependencies=times))
    assert states(world) == {State.DEPEND}
    world.advance(10.0)
    assert not [line for line in world.tape.take() if line.startswith(("BROKEN", "log"))]
    assert states(world) == {State.RUN}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, ""),
        ({1: "one", "version": 1}, ""),
        (from_command(["true"]) | {"version": b"1"}, "version"),
        (from_command(["true"]) | {"attributes": {"system": {"cwd": b"/"}}}, "attributes.system.cwd"),
        (from_command(["true"]) | {"attributes": {"user": {"data": b"\xff"}}}, "attributes.user"),
        (from_command(["true"], shell_options={"output": "x"}), "attributes.system.shell.options.output"),
    ],
)
def test_document_that_is_no_jobspec_is_refused_by_its_path_and_leaves_nothing(
    world: World, spec: dict[Any, Any], path: str
) -> None:
    tag = world.ask(Submit(specs=[spec], jobs=[[0, None]]))
    error = world.client.answered[tag].error
    assert error is not None
    assert error[0] == "invalid-jobspec"
    assert error[1].startswith(path)
    assert world.manager._board.jobs == {}
    assert world.store.settled


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[1, None]],
        [[-1, None]],
        [["0", None]],
        [[0]],
        [[0, 7]],
        ["00"],
        [None],
        [[0, None], [9, None]],
        [[0, None, [], []]],
        [[0, None, "afterok"]],
        [[0, None, {"afterok": 0}]],
        [[0, None], [0, None, ["afterok"]]],
        [[0, None], [0, None, [["afterok"]]]],
        [[0, None], [0, None, [["afterok", "0"]]]],
        [[0, None], [0, None, [["afterok", False]]]],
        [[0, None], [0, None, [["afterok", -1]]]],
        [[0, None], [0, None, [["afterok", 1]]]],
        [[0, None], [0, None, [[["afterok"], 0]]]],
        [[0, None], [0, None, [["begin-time", 0]]]],
    ],
)
def test_rows_that_name_no_spec_or_no_earlier_job_are_refused_and_no_id_is_issued(
    world: World, rows: list[Any]
) -> None:
    tag = world.ask(Submit(specs=[from_command(["true"])], jobs=rows))
    error = world.client.answered[tag].error
    assert error is not None
    assert error[0] == "invalid"
    assert world.manager._board.jobs == {}


def test_text_that_not_every_store_can_hold_is_refused(world: World) -> None:
    specs = [from_command(["true"])]
    for body in (
        Submit(specs=specs, jobs=[[0, "a\0b"]]),
        Submit(specs=specs, jobs=[[0, None]], key="a\0b"),
        Submit(specs=specs, jobs=[[0, None]], key="k" * 256),
        SubmitArray(spec=specs[0], count=2, key="a\0b"),
    ):
        error = world.client.answered[world.ask(body)].error
        assert error is not None
        assert error[0] == "invalid"
        assert "NUL" in error[1]
    assert world.manager._board.jobs == {}


def test_queue_that_is_not_there_is_refused_by_its_path(world: World) -> None:
    tag = world.ask(Submit(specs=[from_command(["true"], queue="batch")], jobs=[[0, None]]))
    assert world.client.answered[tag].error[1].startswith("attributes.system.queue: there is no queue 'batch'")
    assert not world.manager._board.jobs


def test_one_bad_spec_refuses_the_whole_message(world: World) -> None:
    specs = [from_command(["true"]), from_command(["true"], ntasks=99)]
    tag = world.ask(Submit(specs=specs, jobs=[[0, None], [1, None]]))
    assert world.client.answered[tag].error is not None
    assert world.manager._board.jobs == {}
