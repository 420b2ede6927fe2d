"""The leader of execution: what it tells the ranks, and the job manager, as ranks come, go and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from fluxlike.clock import FrozenClock
from fluxlike.protocol.execution import ExecHello, ExecResults, ExecSignal, ExecStart
from fluxlike.protocol.internal import EndTasks, JobReports, Launch, LaunchRow, NodeJoined, Settled
from fluxlike.protocol.message import Kind, Message
from fluxlike.protocol.payload import Payload
from fluxlike_broker.call import Call
from fluxlike_broker.modules.execution.leader import ExecutionLeader
from fluxlike_broker.service import request

GRACE = 60.0
OWN_FILES = {"stdout": "", "stderr": "", "append": False}
ONE_FILE = {"stdout": "job.out", "stderr": "", "append": False}


class Queue:
    """Stands for the job manager and the resource service."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, str, Any]] = []
        self.joined: list[int] = []

    @request(JobReports)
    def report(self, body: JobReports, call: Call) -> Settled:
        self.reports += [(job_id, what, context) for job_id, what, _, context in body.rows]
        return Settled()

    @request(NodeJoined)
    def join(self, body: NodeJoined, call: Call) -> None:
        self.joined.append(body.rank)


class Notes:
    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def put(self, key: str, value: str) -> None:
        self.kept[key] = value


class SteppedLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: FrozenClock) -> None:
        self._wall = clock
        super().__init__()

    def time(self) -> float:
        return self._wall.at

    def turn(self) -> None:
        for _ in range(4):
            self.call_soon(self.stop)
            self.run_forever()


class Stage:
    """A leader on rank 0 whose ranks 1 and 2 are pretended."""

    def __init__(self, net: Any) -> None:
        self.net = net
        self.clock = FrozenClock(1000.0)
        self.loop = SteppedLoop(self.clock)
        self.queue, self.notes = Queue(), Notes()
        self.leader = ExecutionLeader(net.router, self.clock, lambda: self.notes, GRACE)
        net.router.register(self.queue)
        net.router.register(self.leader)

    def do(self, payload: Payload, *, rank: int = 0) -> Message | None:
        """As a module of rank 0 or an agent of another rank asks; the answer if there is one already."""
        message = Message(Kind.REQUEST, payload.topic, payload, sender=1001, matchtag=1, route=[rank])
        self.loop.call_soon(self.net.router.handle, message)
        before = len(self.net.links.sent)
        self.loop.turn()
        answers = [m for _, m in self.net.links.sent[before:] if m.kind == Kind.RESPONSE]
        return answers[-1] if answers else None

    def hello(self, rank: int, epoch: str = "e1", jobs: tuple[Any, ...] = ()) -> Any:
        body = ExecHello(rank=rank, host=f"node{rank}", cores="0-3", gpus="", epoch=epoch, pid=1, jobs=list(jobs))
        answer = self.do(body, rank=rank)
        assert answer is not None
        return answer.failure() or answer.body.kill

    def results(self, rank: int, *rows: Any, epoch: str = "e1") -> Any:
        answer = self.do(ExecResults(rank=rank, epoch=epoch, results=list(rows)), rank=rank)
        assert answer is not None
        return answer.failure() or answer.body.sequence

    def launch(self, job_id: int, *ranks: int, **given: Any) -> None:
        self.loop.call_soon(partial(self.launch_now, job_id, *ranks, **given))
        self.loop.turn()

    def launch_now(self, job_id: int, *ranks: int, **given: Any) -> None:
        nodes = [(rank, index, 1, "0", "") for index, rank in enumerate(ranks)]
        row: dict[str, Any] = {"attempt": 0, "digest": "d", "spec": OWN_FILES, "cc": None, "ntasks": len(ranks)}
        made = LaunchRow(id=job_id, nodes=nodes, **row | {"allocated_at": 1000.0} | given)
        self.net.router.request(Launch(rows=[made]))

    def left(self, *ranks: int, cleanly: bool = False) -> None:
        event = Message(Kind.EVENT, "overlay.left", {"ranks": list(ranks), "cleanly": cleanly}, matchtag=1)
        self.loop.call_soon(self.net.router.handle, event)
        self.loop.turn()

    def wait(self, seconds: float) -> None:
        self.clock.at += seconds
        self.loop.turn()

    def sent(self) -> list[tuple[str, str, Any]]:
        """(way, verb, jobs) of what went to the ranks since the last look."""
        found: list[tuple[str, str, Any]] = []
        for way, message in self.net.links.sent:
            if isinstance(message.body, ExecStart):
                found.append((way, "start", [row[0] for row in message.body.jobs]))
            elif isinstance(message.body, ExecSignal):
                found.append((way, "signal", message.body.signals))
        self.net.links.sent.clear()
        return found


@pytest.fixture
def stage(root: Any) -> Iterator[Stage]:
    made = Stage(root)
    yield made
    made.loop.close()


def test_job_starts_on_the_ranks_that_are_there(stage: Stage) -> None:
    stage.hello(1)
    stage.hello(2)
    stage.sent()
    stage.launch(7, 1, 2)
    assert stage.sent() == [("to 1", "start", [7]), ("to 2", "start", [7])]


def test_start_waits_for_a_rank_that_is_away(stage: Stage) -> None:
    stage.hello(1)
    stage.left(1)
    stage.launch(7, 1)
    assert stage.sent() == []
    stage.hello(1, "e2")
    assert stage.sent() == [("to 1", "start", [7])]


def test_job_has_started_and_finished_when_all_its_ranks_have(stage: Stage) -> None:
    stage.hello(1)
    stage.hello(2)
    stage.launch(7, 1, 2)
    assert stage.results(1, [1, 7, 0, "started", 5.0, [11]]) == 1
    assert stage.queue.reports == []
    stage.results(2, [1, 7, 0, "started", 5.0, [12]])
    stage.results(2, [2, 7, 0, "finished", 6.0, [256], ""])
    stage.results(1, [2, 7, 0, "finished", 7.0, [0], ""])
    assert stage.queue.reports == [
        (7, "start", None),
        (7, "memo", {"ended": {"rank": 2, "status": 256}}),
        (7, "finish", {"status": 256}),
    ]


def test_results_that_come_again_are_acknowledged_and_not_told_twice(stage: Stage) -> None:
    stage.hello(1)
    stage.launch(7, 1)
    started = [1, 7, 0, "started", 5.0, [11]]
    assert stage.results(1, started) == 1
    assert stage.results(1, started) == 1
    assert stage.queue.reports == [(7, "start", None)]


def test_results_of_an_executor_that_has_not_said_hello_are_refused(stage: Stage) -> None:
    assert stage.results(1, [1, 7, 0, "started", 5.0, [11]]).code == "unavailable"
    stage.hello(1, "e1")
    assert stage.results(1, [1, 7, 0, "started", 5.0, [11]], epoch="e0").code == "unavailable"


def test_task_that_cannot_be_started_is_an_exception_of_the_job(stage: Stage) -> None:
    stage.hello(1)
    stage.launch(7, 1)
    stage.results(1, [1, 7, 0, "finished", 5.0, [127 << 8], "nonsense: no such command"])
    assert stage.queue.reports == [
        (7, "exception", {"type": "exec", "severity": 0, "note": "nonsense: no such command"}),
        (7, "finish", {"status": 127 << 8}),
    ]


def test_tasks_are_ended_once(stage: Stage) -> None:
    stage.hello(1)
    stage.launch(7, 1)
    stage.sent()
    stage.do(EndTasks(rows=[(7, 15), (99, 15)]))
    stage.do(EndTasks(rows=[(7, 15)]))
    assert stage.sent() == [("to 1", "signal", [[7, 0, 15, True]])]


def test_kill_does_not_overtake_its_start(stage: Stage) -> None:
    stage.hello(1)
    stage.sent()
    end = EndTasks(rows=[(7, 15)])
    stage.loop.call_soon(stage.launch_now, 7, 1)
    stage.loop.call_soon(stage.net.router.request, end)
    stage.loop.turn()
    assert [verb for _, verb, _ in stage.sent()] == ["start", "signal"]


def test_rank_that_is_back_in_time_goes_on_with_its_tasks(stage: Stage) -> None:
    stage.hello(1)
    stage.launch(7, 1)
    stage.left(1)
    stage.sent()
    stage.wait(GRACE - 1)
    assert stage.hello(1, jobs=([7, 0, "running"],)) == []
    stage.wait(GRACE)
    assert stage.queue.reports == []
    assert stage.sent() == []


def test_jobs_of_a_rank_that_stays_away_fail(stage: Stage) -> None:
    stage.hello(1)
    stage.launch(7, 1)
    stage.left(1)
    stage.wait(GRACE)
    note = "rank 1 (node1) is lost"
    assert stage.queue.reports == [
        (7, "exception", {"type": "node-failure", "severity": 0, "note": note}),
        (7, "finish", {"status": 9}),
    ]


def test_jobs_of_a_rank_whose_executor_died_fail(stage: Stage) -> None:
    stage.hello(1, "e1")
    stage.launch(7, 1)
    stage.hello(1, "e2")
    assert [what for _, what, _ in stage.queue.reports] == ["exception", "finish"]


def test_tasks_that_nobody_wants_any_more_are_to_be_killed(stage: Stage) -> None:
    stage.launch(7, 1, adopt=True)
    jobs = ([7, 0, "running"], [8, 0, "running"], [9, 0, "finished"])
    assert stage.hello(1, jobs=jobs) == [[8, 0]]


def test_rank_may_not_speak_for_another(stage: Stage) -> None:
    body = ExecHello(rank=2, host="node2", cores="0", gpus="", epoch="e", pid=1, jobs=[])
    answer = stage.do(body, rank=1)
    assert answer is not None
    assert answer.error == ("invalid", "rank 1 spoke for rank 2")


# -- nodes that share an output file ------------------------------------------------------------------------------


def test_others_start_when_the_first_has_emptied_the_file(stage: Stage) -> None:
    stage.hello(1)
    stage.hello(2)
    stage.launch(7, 1, 2, spec=ONE_FILE)
    assert stage.sent() == [("to 1", "start", [7])]
    stage.hello(2)  # coming back is no reason to begin early
    assert stage.sent() == []
    stage.results(1, [1, 7, 0, "started", 5.0, [11]])
    assert stage.sent() == [("to 2", "start", [7])]


def test_others_never_start_if_the_job_is_cancelled_before(stage: Stage) -> None:
    stage.hello(1)
    stage.hello(2)
    stage.launch(7, 1, 2, spec=ONE_FILE)
    stage.do(EndTasks(rows=[(7, 15)]))
    stage.results(1, [1, 7, 0, "started", 5.0, [11]], [2, 7, 0, "finished", 6.0, [15], ""])
    assert [verb for way, verb, _ in stage.sent() if way == "to 2"] == []
    assert stage.queue.reports == [(7, "finish", {"status": 15})]


def test_others_start_after_a_restart_though_the_first_told_of_its_start_before(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0", "executor.2": "e1 900.0"})
    stage.launch(7, 1, 2, spec=ONE_FILE, adopt=True)
    stage.hello(2)
    assert stage.sent() == []
    stage.hello(1, jobs=([7, 0, "running"],))
    assert stage.sent() == [("to 2", "start", [7])]


def test_others_that_run_already_are_not_started_again_after_a_restart(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0", "executor.2": "e1 900.0"})
    stage.launch(7, 1, 2, spec=ONE_FILE, adopt=True)
    stage.hello(2, jobs=([7, 0, "running"],))
    stage.hello(1, jobs=([7, 0, "running"],))
    assert stage.sent() == []
    assert stage.queue.reports == [(7, "start", None)]


# -- after a restart of rank 0 ------------------------------------------------------------------------------------


def test_start_that_never_reached_the_same_executor_is_sent_again(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0"})
    stage.launch(7, 1, adopt=True)
    stage.hello(1, "e1")
    assert stage.sent() == [("to 1", "start", [7])]


def test_job_cancelled_before_its_start_was_sent_is_not_started_after_all(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0"})
    stage.launch(7, 1, adopt=True)
    stage.do(EndTasks(rows=[(7, 15)]))
    stage.sent()
    stage.hello(1, "e1")
    assert stage.sent() == []
    assert stage.queue.reports == [(7, "finish", {"status": 15})]


def test_cancelled_job_whose_tasks_are_found_is_ended(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0"})
    stage.launch(7, 1, adopt=True, started=True)
    stage.do(EndTasks(rows=[(7, 15)]))
    stage.sent()
    stage.hello(1, "e1", jobs=([7, 0, "running"],))
    assert stage.sent() == [("to 1", "signal", [[7, 0, 15, True]])]


def test_job_that_had_started_and_is_unknown_to_its_executor_is_lost(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0"})
    stage.launch(7, 1, adopt=True, started=True)
    stage.hello(1, "e1")
    assert [what for _, what, _ in stage.queue.reports] == ["exception", "finish"]


def test_lives_of_executors_are_noted_when_they_are_new(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0", "queue": "1 "})
    stage.hello(1, "e1")
    assert stage.notes.kept == {}
    stage.hello(1, "e2")
    assert stage.notes.kept == {"executor.1": "e2 1000.0"}


def test_start_is_told_though_one_rank_told_of_its_own_before_the_restart(stage: Stage) -> None:
    stage.leader.remember({"executor.1": "e1 900.0", "executor.2": "e1 900.0"})
    stage.launch(7, 1, 2, adopt=True)
    stage.hello(1, jobs=([7, 0, "running"],))
    assert stage.queue.reports == []
    stage.hello(2, jobs=([7, 0, "running"],))
    stage.results(2, [1, 7, 0, "started", 5.0, [12]])
    assert stage.queue.reports == [(7, "start", None)]


@pytest.mark.parametrize("spec", [OWN_FILES, ONE_FILE])
def test_rank_that_was_through_before_a_restart_is_neither_lost_nor_started_again(
    stage: Stage, spec: dict[str, Any]
) -> None:
    stage.hello(1)
    stage.clock.at += 10
    stage.launch(7, 1, 2, adopt=True, spec=spec, ended={1: 256}, allocated_at=1005.0)
    stage.hello(1)
    assert (stage.sent(), stage.queue.reports) == ([], [])
    stage.hello(2, jobs=([7, 0, "running"],))
    assert stage.queue.reports == [(7, "start", None)]
    stage.results(2, [1, 7, 0, "finished", 6.0, [0], ""])
    assert stage.queue.reports[1:] == [(7, "finish", {"status": 256})]
