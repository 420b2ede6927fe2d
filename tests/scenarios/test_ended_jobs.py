"""Jobs that ended long ago: only the store still knows them, and whoever asks need not notice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scenario_stage.world import World

from fluxlike.ids import MAX_ID, encode_f58
from fluxlike.job.eventlog import line
from fluxlike.job.states import RESULTS
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.internal import JobAlive, JobReports
from fluxlike.protocol.jobs import JobEvents, JobInfo, JobKill, JobList, JobRaise, JobWait, Submit, SubmitArray
from fluxlike.protocol.message import Flag
from fluxlike_broker.modules.job_manager import board
from fluxlike_broker.modules.job_manager.orders import KEPT
from fluxlike_broker.store.batch import Batch

USUAL = ["submit", "validate", "depend", "priority", "alloc", "start", "finish", "release", "free", "clean"]

lives = pytest.mark.parametrize("restarted", [False, True], ids=["same life", "after a restart"])


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(board, "RECENT", 0)
    made = World()
    made.nodes = [(0, "node0", 0xFF, 0, True)]
    made.tell_nodes()
    yield made
    made.close()


def ask(world: World, payload: Any, flags: int = Flag.NONE) -> Any:
    """The answer, or the code and text of the error."""
    answer = world.client.answered[world.ask(payload, flags)]
    return answer.error or answer.body


def submit(world: World, *, rows: list[Any] | None = None, key: str = "", **options: Any) -> list[int]:
    spec = from_command(["true"], **options)
    ids: list[int] = ask(world, Submit(specs=[spec], jobs=rows or [[0, None]], key=key)).ids
    return ids


def finish(world: World, job_id: int, status: int = 0) -> None:
    for what, context in (("start", None), ("finish", {"status": status})):
        ask(world, JobReports(rows=[(job_id, what, world.clock.now(), context)]))


def ended(world: World, restarted: bool, status: int = 0, **options: Any) -> int:
    """A job that nobody has in memory any more."""
    (job_id,) = submit(world, **options)
    finish(world, job_id, status)
    if restarted:
        world.restart()
        world.tell_nodes()
    assert job_id not in world.manager._board.jobs
    return job_id


def record(world: World, job_id: int) -> dict[str, Any]:
    (found,) = ask(world, JobList(ids=[job_id])).jobs
    return dict(found)


@lives
def test_record_of_an_old_job_is_the_one_it_had_when_it_ended(world: World, restarted: bool) -> None:
    told = world.ask(JobWait(ids=submit(world, rows=[[0, "seven"]], name="copy-{cc}")), Flag.STREAM)
    (job_id,) = world.manager._board.jobs
    finish(world, job_id, 256)
    (last,) = world.client.streamed[told][-1].jobs
    if restarted:
        world.restart()
        world.tell_nodes()
    assert record(world, job_id) == last
    assert (last["name"], last["result"], last["returncode"], last["nodelist"]) == ("copy-seven", "failed", 1, "node0")
    assert ask(world, JobList(states=["failed"])).jobs == [last]


@lives
def test_log_spec_and_r_of_an_old_job_are_there(world: World, restarted: bool) -> None:
    job_id = ended(world, restarted)
    values = ask(world, JobInfo(id=job_id, keys=["eventlog", "jobspec", "R"])).values
    assert [name for _, name, _ in values["eventlog"]] == USUAL
    assert values["jobspec"]["tasks"][0]["command"] == ["true"]
    assert values["R"]["execution"]["R_lite"] == [{"rank": "0", "children": {"core": "0"}}]


@lives
@pytest.mark.parametrize("wait", [False, True])
def test_events_of_an_old_job_come_at_once_and_are_all(world: World, restarted: bool, wait: bool) -> None:
    job_id = ended(world, restarted)
    for since in (0, 3, len(USUAL)):
        reply = ask(world, JobEvents(id=job_id, since=since, wait=wait))
        assert [name for _, name, _ in reply.events] == USUAL[since:]
        assert (reply.next, reply.done) == (len(USUAL), True)


@lives
def test_wait_for_an_old_job_and_a_new_one_ends_with_the_new_one(world: World, restarted: bool) -> None:
    old = ended(world, restarted)
    (new,) = submit(world)
    tag = world.ask(JobWait(ids=[old, new]), Flag.STREAM)
    assert [job["id"] for body in world.client.streamed[tag] for job in body.jobs] == [old]
    assert not world.client.answered[tag].flags & Flag.END
    finish(world, new)
    assert [job["id"] for body in world.client.streamed[tag] for job in body.jobs] == [old, new]
    assert world.client.answered[tag].flags & Flag.END


@lives
@pytest.mark.parametrize(
    ("scheme", "status", "met"),
    [
        ("afterok", 0, True),
        ("afterok", 256, False),
        ("afternotok", 256, True),
        ("afternotok", 0, False),
        ("afterany", 9, True),
        ("afterstart", 0, True),
        ("afterexcept", 0, False),
    ],
)
def test_dependency_on_an_old_job_is_decided_at_once(
    world: World, restarted: bool, scheme: str, status: int, met: bool
) -> None:
    target = ended(world, restarted, status)
    (job_id,) = submit(world, dependencies=[{"scheme": scheme, "value": str(target)}])
    found = record(world, job_id)
    if met:
        assert (found["state"], found["dependencies"]) == ("run", [])
    else:
        assert (found["state"], found["exception_type"]) == ("inactive", "depend")
        description = f"{scheme}={encode_f58(target)}"
        assert found["exception_note"] == f"dependency {description} can never be satisfied"


def test_job_that_waited_for_two_still_knows_after_a_restart_that_one_of_them_ended_long_ago(world: World) -> None:
    first, second = submit(world, rows=[[0, None], [0, None]])
    dependencies = [{"scheme": "afterany", "value": str(target)} for target in (first, second)]
    (job_id,) = submit(world, dependencies=dependencies)
    finish(world, first)
    world.restart()
    world.tell_nodes()
    assert record(world, job_id)["dependencies"] == [f"afterany={encode_f58(second)}"]
    finish(world, second)
    assert record(world, job_id)["state"] == "run"


def left_by_an_earlier_life(world: World, dependency: str) -> int:
    """A stored job that waits for what is over already. No life of today leaves one: whoever waits is told in the
    same commit."""
    (like,) = submit(world)
    job_id, now = like + 1, world.clock.now()
    row = world.manager._board.jobs[like]
    events = [
        (now, "submit", {"urgency": 16, "userid": 1000, "flags": [], "version": 1}),
        (now, "validate", None),
        (now, "dependency-add", {"description": dependency}),
    ]
    batch = Batch()
    batch.job((job_id, row.digest, 1000, 16, "", None, now, 0))
    batch.event(job_id, 0, ",".join(line(*event) for event in events))
    world.disk.commit(batch)
    finish(world, like)
    return job_id


def test_restart_decides_by_the_store_about_a_job_that_ended_long_ago(world: World) -> None:
    target = ended(world, restarted=False)
    job_id = left_by_an_earlier_life(world, f"afterok={encode_f58(target)}")
    world.restart()
    world.tell_nodes()
    assert record(world, job_id)["state"] == "run"


def test_restart_ends_a_job_that_waits_for_one_that_was_purged(world: World) -> None:
    job_id = left_by_an_earlier_life(world, "afterok=ƒ8")
    world.restart()
    assert record(world, job_id)["exception_note"] == "afterok: job ƒ8 is gone"


def test_restart_does_not_condemn_a_job_because_the_store_fails_just_then(world: World) -> None:
    target = ended(world, restarted=False)
    job_id = left_by_an_earlier_life(world, f"afterok={encode_f58(target)}")
    world.disk.broken = "disk is full"
    world.restart()
    world.tell_nodes()
    world.advance(5.0)
    assert [job["state"] for job in ask(world, JobList(states=["active"])).jobs] == ["depend"]
    world.disk.broken = None
    world.do(world.store.retry)
    world.advance(5.0)
    assert record(world, job_id)["state"] == "run"


def test_dependency_on_a_job_that_the_store_refused_meanwhile_is_refused(world: World) -> None:
    """The other target has to be looked up in the store, and until that is done the first one may be gone."""
    old = ended(world, restarted=False)
    world.by_hand = True
    first = world.ask(Submit(specs=[from_command(["true"])], jobs=[[0, None]]))
    (lost,) = world.manager._board.jobs
    dependencies = [{"scheme": "afterany", "value": str(target)} for target in (lost, old)]
    second = world.ask(Submit(specs=[from_command(["true"], dependencies=dependencies)], jobs=[[0, None]]))
    world.disk.broken = "disk is full"
    world.commit()
    assert world.client.answered[first].error is not None
    world.disk.broken = None
    world.by_hand = False
    world.do(world.store.retry)
    assert world.client.answered[second].error == (
        "invalid-jobspec",
        f"attributes.system.dependencies[0].value: there is no job {encode_f58(lost)}",
    )


@pytest.mark.parametrize("job_id", [7, 0, 2**63 - 1, 2**63, MAX_ID])
def test_job_that_never_was_is_not_found_whoever_asks(world: World, job_id: int) -> None:
    ended(world, restarted=False)
    text = f"there is no job {encode_f58(job_id)}"
    for question in (
        JobList(ids=[job_id]),
        JobInfo(id=job_id, keys=["eventlog"]),
        JobInfo(id=job_id, keys=["jobspec"]),
        JobEvents(id=job_id, wait=True),
        JobAlive(id=job_id),
    ):
        assert ask(world, question) == ("not-found", text)
    assert ask(world, JobWait(ids=[job_id]), Flag.STREAM) == ("not-found", text)
    dependency = {"scheme": "afterany", "value": str(job_id)}
    refused = ask(world, Submit(specs=[from_command(["true"], dependencies=[dependency])], jobs=[[0, None]]))
    assert refused == ("invalid-jobspec", f"attributes.system.dependencies[0].value: {text}")


def test_old_job_is_not_alive(world: World) -> None:
    assert not ask(world, JobAlive(id=ended(world, restarted=False))).active


# -- pages ----------------------------------------------------------------------------------------------------------


def pages(world: World, limit: int, **wanted: Any) -> list[list[int]]:
    found: list[list[int]] = []
    cursor = ""
    while not found or cursor:
        page = ask(world, JobList(limit=limit, cursor=cursor, **wanted))
        found.append([job["id"] for job in page.jobs])
        cursor = page.cursor
    return found


@pytest.fixture
def crowd(world: World) -> dict[str, list[int]]:
    """Jobs of all kinds, ids by what they are, each in the order of a listing."""
    long_ago = submit(world, rows=[[0, str(copy)] for copy in range(6)], name="old-{cc}")
    for number, job_id in enumerate(long_ago):
        world.advance(float(number % 2))  # some of them end at the same time
        finish(world, job_id, 256 * (number % 3))
    world.nodes = [(0, "node0", 0b111, 0, True)]
    world.tell_nodes()
    running = submit(world, rows=[[0, str(copy)] for copy in range(3)])
    first = submit(world, rows=[[0, str(copy)] for copy in range(2)])
    waiting = submit(world, dependencies=[{"scheme": "afterok", "value": str(first[0])}])
    later = submit(world, rows=[[0, "x"]], name="later")
    held = ask(world, Submit(specs=[from_command(["true"])], jobs=[[0, None]], urgency=0)).ids
    urgent = ask(world, Submit(specs=[from_command(["true"])], jobs=[[0, None]], urgency=30)).ids
    return {
        "sched": [*urgent, *first, *later, *held],
        "depend": waiting,
        "run": running[::-1],
        "inactive": long_ago[::-1],
    }


@pytest.mark.parametrize("limit", range(1, 17))
def test_pages_of_any_size_hold_every_job_once_and_in_order(
    world: World, crowd: dict[str, list[int]], limit: int
) -> None:
    everything = [job_id for ids in crowd.values() for job_id in ids]
    found = pages(world, limit)
    assert [job_id for page in found for job_id in page] == everything
    assert all(len(page) == limit for page in found[:-1])


@pytest.mark.parametrize("limit", [1, 2, 4, 0])
def test_pages_of_some_states_and_results(world: World, crowd: dict[str, list[int]], limit: int) -> None:
    ok = {job["id"] for job in ask(world, JobList(states=["completed"])).jobs}
    assert len(ok) == 2
    expected = {
        ("sched",): crowd["sched"],
        ("running", "completed"): [*crowd["run"], *(job_id for job_id in crowd["inactive"] if job_id in ok)],
        ("depend", "inactive"): [*crowd["depend"], *crowd["inactive"]],
        RESULTS: crowd["inactive"],
        ("cleanup",): [],
    }
    for states, ids in expected.items():
        assert [job_id for page in pages(world, limit, states=list(states)) for job_id in page] == ids


def test_array_with_running_and_waiting_tasks_is_listed_once(world: World) -> None:
    (array,) = ask(world, SubmitArray(spec=from_command(["true"]), count=20)).ids
    assert pages(world, 5, states=["active"]) == [[array]]
    assert pages(world, 5, states=["running"]) == [[array]]


def test_listing_by_name_finds_active_and_ended_jobs_by_the_name_that_is_shown(
    world: World, crowd: dict[str, list[int]]
) -> None:
    assert pages(world, 5, name="later") == [crowd["sched"][3:4]]
    copy = crowd["inactive"][-3]
    assert pages(world, 5, name="old-2") == [[copy]]
    (active,) = submit(world, rows=[[0, "2"]], name="old-{cc}")
    assert pages(world, 1, name="old-2") == [[active], [copy]]
    assert pages(world, 5, name="old-{cc}") == [[]]


def test_listing_of_what_ended_since_a_time(world: World, crowd: dict[str, list[int]]) -> None:
    ends = {job["id"]: job["t_inactive"] for job in ask(world, JobList(states=["inactive"])).jobs}
    assert len(set(ends.values())) == 4
    for since in ends.values():
        expected = [job_id for job_id in crowd["inactive"] if ends[job_id] >= since]
        assert [i for page in pages(world, 2, states=["inactive"], since=since) for i in page] == expected


def test_jobs_that_end_between_two_pages_of_ended_ones_shift_nothing(world: World, crowd: dict[str, list[int]]) -> None:
    page = ask(world, JobList(states=["inactive"], limit=3))
    world.advance(1.0)
    finish(world, crowd["run"][0])
    rest = ask(world, JobList(states=["inactive"], limit=3, cursor=page.cursor))
    assert [job["id"] for job in (*page.jobs, *rest.jobs)] == crowd["inactive"]
    assert rest.cursor == ""


def test_jobs_that_start_or_end_between_two_pages_of_active_ones_shift_nothing(world: World) -> None:
    world.nodes = [(0, "node0", 0b1, 0, True)]
    world.tell_nodes()
    ids = submit(world, rows=[[0, str(copy)] for copy in range(7)])
    first = ask(world, JobList(states=["pending"], limit=2))
    second = ask(world, JobList(states=["pending"], limit=2, cursor=first.cursor))
    finish(world, ids[0])
    finish(world, ids[1])
    third = ask(world, JobList(states=["pending"], limit=2, cursor=second.cursor))
    assert [job["id"] for page in (first, second, third) for job in page.jobs] == ids[1:7]
    assert pages(world, 2, states=["active"]) == [ids[3:5], ids[5:], ids[2:3]]


def test_more_listings_at_once_than_are_kept_find_their_ends(world: World, crowd: dict[str, list[int]]) -> None:
    first = ask(world, JobList(states=["active"], limit=1))
    begun = [ask(world, JobList(states=["active"], limit=1, cursor=first.cursor)) for _ in range(2 * KEPT)]
    for page in begun:
        found, cursor = [first.jobs[0]["id"], page.jobs[0]["id"]], page.cursor
        while cursor:
            after = ask(world, JobList(states=["active"], limit=1, cursor=cursor))
            found += [job["id"] for job in after.jobs]
            cursor = after.cursor
        assert found == [i for some in pages(world, 100, states=["active"]) for i in some]


@pytest.mark.parametrize(
    "cursor",
    [
        "a:x",
        "a:-1",
        "a:1:x",
        "a:1:-1",
        "a:99999999999999999999",
        "i:x",
        "i:1.0",
        "i:1.0:x",
        "i:nan:1",
        "i:1.0:99999999999999999999",
        "z",
    ],
)
def test_cursor_that_is_none_is_refused(world: World, cursor: str) -> None:
    assert ask(world, JobList(cursor=cursor)) == ("invalid", f"{cursor!r} is not a cursor of job.list")


def test_page_of_less_than_nothing_is_refused(world: World) -> None:
    code, text = ask(world, JobList(limit=-1))
    assert (code, text) == ("invalid", "limit -1 is not a number of jobs")


# -- what an outage of the store means -------------------------------------------------------------------------------


def test_question_about_an_old_job_says_that_the_store_fails(world: World) -> None:
    job_id = ended(world, restarted=False)
    world.disk.broken = "disk is full"
    for question in (JobList(ids=[job_id]), JobInfo(id=job_id, keys=["R"]), JobEvents(id=job_id), JobAlive(id=job_id)):
        assert ask(world, question) == ("store-unavailable", "disk is full")


def test_dependency_on_an_old_job_is_refused_while_the_store_fails_and_taken_afterwards(world: World) -> None:
    job_id = ended(world, restarted=False)
    spec = from_command(["true"], dependencies=[{"scheme": "afterok", "value": str(job_id)}])
    world.disk.broken = "disk is full"
    assert ask(world, Submit(specs=[spec], jobs=[[0, None]]))[0] == "store-unavailable"
    world.disk.broken = None
    world.do(world.store.retry)
    (taken,) = ask(world, Submit(specs=[spec], jobs=[[0, None]])).ids
    assert record(world, taken)["state"] == "run"


@pytest.mark.parametrize("request_", [JobRaise, JobKill])
def test_old_job_cannot_be_cancelled_or_killed_and_is_said_to_be_inactive(world: World, request_: Any) -> None:
    old = ended(world, restarted=False)
    (new,) = submit(world)
    touched = ask(world, request_(ids=[old, new, 7]))
    assert touched.ids == [new]
    assert touched.errors == [
        [old, "invalid", f"job {encode_f58(old)} is inactive"],
        [7, "not-found", "there is no job ƒ8"],
    ]


def test_unknown_job_is_not_said_to_be_missing_while_the_store_fails(world: World) -> None:
    world.disk.broken = "disk is full"
    assert ask(world, JobKill(ids=[7])).errors == [[7, "store-unavailable", "disk is full"]]
