"""Arrays under any order of requests, news, commits, failures, restarts and purges: no task is lost, none is started
twice, limits hold, and what is counted and listed is what the store says."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scenario_stage.executors import Executors
from scenario_stage.world import World

from fluxlike.idset import parse_mask
from fluxlike.job.array import CANCELED, DONE, HELD, STARTED, TaskTable
from fluxlike.job.array import PENDING as WAITING
from fluxlike.job.job import Job, apply, result
from fluxlike.job.states import RESULTS, State
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.internal import JobReports
from fluxlike.protocol.jobs import JobPurge, JobRaise, JobTasks, JobUrgency, QueueStart, QueueStop, Submit, SubmitArray
from fluxlike_broker.modules.job_manager import board

PICK = st.integers(0, 50)
FEW = 2
"""Ended jobs that stay in memory here."""


def seen(tasks: TaskTable) -> dict[str, Any]:
    """All of a table that replay must give back."""
    return {
        "states": bytes(tasks.states),
        "statuses": list(tasks.statuses),
        "counts": tasks.counts,
        "failed": tasks.failed,
        "nodes": tasks.nodes,
        "times": [tasks.times(index) for index in range(tasks.count)],
    }


class ArraysUnderAnyHistory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._few = patch.object(board, "RECENT", FEW)
        self._few.start()
        self.world = World()
        self.executors = Executors()
        self.submits: set[int] = set()
        """Tags of submits that were not answered."""
        self.acknowledged: set[int] = set()
        self.sizes: dict[int, int] = {}
        """Array -> number of tasks."""
        self.needs: dict[int, int] = {}
        """Job -> the array of which it needs every task."""

    def teardown(self) -> None:
        try:
            self._bring_all_to_an_end()
        finally:
            self.world.close()
            self._few.stop()

    @property
    def jobs(self) -> dict[int, Job]:
        return self.world.manager._board.jobs

    @property
    def arrays(self) -> list[tuple[Job, TaskTable]]:
        return [(job, job.tasks) for job in self.jobs.values() if job.tasks is not None]

    def listen(self) -> None:
        self.sizes = {job_id: count for job_id, count in self.sizes.items() if job_id not in self.jobs}
        self.sizes |= {job.id: tasks.count for job, tasks in self.arrays}
        for line in self.world.tape.take():
            assert not line.startswith(("BROKEN", "log error", "log warning")), line
            assert "internal" not in line, line
            self.executors.hear(line)
        answered = self.world.client.answered
        for tag in [tag for tag in self.submits if tag in answered]:
            self.submits.remove(tag)
            if answered[tag].error is None:
                self.acknowledged |= set(answered[tag].body.ids)
        unacknowledged = self.executors.unacknowledged
        self.executors.unacknowledged = [(tag, row) for tag, row in unacknowledged if tag not in answered]
        for tag, _ in unacknowledged:
            assert tag not in answered or answered[tag].error is None, answered[tag].error

    def ask(self, payload: Any) -> Any:
        tag = self.world.ask(payload)
        self.listen()
        return self.world.client.answered.get(tag)

    def report(self, *row: Any) -> None:
        tag = self.world.ask(JobReports(rows=[row]))
        self.executors.unacknowledged.append((tag, row))
        self.listen()

    def all_ids(self) -> list[int]:
        return sorted(self.jobs.keys() | self.world.disk.ended().keys())

    def known(self, pick: int) -> int:
        ids = self.all_ids()
        return ids[pick % len(ids)]

    # -- what may happen --------------------------------------------------------------------------------------

    @initialize()
    def nodes_come(self) -> None:
        self.world.nodes = [(0, "node0", 0b11, 0, True), (1, "node1", 0b1, 0, True)]
        self.world.tell_nodes()

    @rule(
        count=st.integers(1, 6),
        cores=st.integers(1, 2),
        limit=st.sampled_from([0.0, 30.0]),
        urgency=st.sampled_from([0, 16, 16, 16]),
        max_running=st.integers(0, 2),
        max_fails=st.integers(-1, 2),
    )
    def submit_array(
        self, count: int, cores: int, limit: float, urgency: int, max_running: int, max_fails: int
    ) -> None:
        spec = from_command(["true"], cores_per_task=cores, duration=limit)
        self._submit(SubmitArray(spec=spec, count=count, urgency=urgency, max_running=max_running, max_fails=max_fails))

    @rule(cores=st.integers(1, 3))
    def submit_job(self, cores: int) -> None:
        self._submit(Submit(specs=[from_command(["true"], ntasks=cores)], jobs=[[0, None]]))

    @precondition(lambda self: self.arrays)
    @rule(pick=PICK)
    def submit_after_an_array(self, pick: int) -> None:
        array = self.arrays[pick % len(self.arrays)][0].id
        spec = from_command(["true"], dependencies=[{"scheme": "afterok", "value": str(array)}])
        before = set(self.all_ids())
        self._submit(Submit(specs=[spec], jobs=[[0, None]]))
        self.needs |= {job_id: array for job_id in set(self.all_ids()) - before}

    def _submit(self, payload: Submit | SubmitArray) -> None:
        self.submits.add(self.world.ask(payload))
        self.listen()

    @precondition(lambda self: self.all_ids())
    @rule(pick=PICK, severity=st.sampled_from([0, 0, 3]))
    def raise_exception(self, pick: int, severity: int) -> None:
        self.ask(JobRaise(ids=[self.known(pick)], severity=severity, note="why not"))

    @precondition(lambda self: self.arrays)
    @rule(pick=PICK, index=PICK, severity=st.sampled_from([0, 0, 3]))
    def raise_exception_of_a_task(self, pick: int, index: int, severity: int) -> None:
        _, tasks = self.arrays[pick % len(self.arrays)]
        self.ask(JobRaise(ids=[tasks.key(index % tasks.count)], severity=severity, note="why not"))

    @precondition(lambda self: self.all_ids())
    @rule(pick=PICK, urgency=st.sampled_from([0, 16, 31]))
    def change_urgency(self, pick: int, urgency: int) -> None:
        self.ask(JobUrgency(id=self.known(pick), urgency=urgency))

    @precondition(lambda self: self.executors.running)
    @rule(pick=PICK, status=st.sampled_from([0, 0, 256, 9]), broken=st.sampled_from([False, False, True]))
    def tasks_go_on(self, pick: int, status: int, broken: bool) -> None:
        running = sorted(self.executors.running)
        name = running[pick % len(running)]
        key, now = self.world.tape.id_of(name), self.world.clock.now()
        if not self.executors.running[name] and not broken:
            self.executors.running[name] = True
            self.report(key, "start", now, None)
            return
        del self.executors.running[name]
        if broken:
            self.report(key, "exception", now, {"type": "exec", "severity": 0, "note": "no such command"})
        self.report(key, "finish", now, {"status": status})

    @rule(seconds=st.integers(1, 40))
    def time_passes(self, seconds: int) -> None:
        self.world.advance(float(seconds))
        self.listen()

    @rule(rank=st.integers(0, 1), up=st.booleans())
    def node_goes_or_comes(self, rank: int, up: bool) -> None:
        self.world.nodes[rank] = (*self.world.nodes[rank][:4], up)
        self.world.tell_nodes()
        self.listen()

    @rule(started=st.booleans())
    def queue_is_switched(self, started: bool) -> None:
        self.ask(QueueStart() if started else QueueStop(reason="lunch"))

    @rule(by_hand=st.booleans())
    def store_changes_its_pace(self, by_hand: bool) -> None:
        self.world.by_hand = by_hand
        self.world.settle()
        self.listen()

    @precondition(lambda self: self.world.store.busy)
    @rule()
    def store_gets_to_it(self) -> None:
        self.world.commit()
        self.listen()

    @rule(broken=st.booleans())
    def disk_breaks_or_is_mended(self, broken: bool) -> None:
        self.world.disk.broken = "disk is full" if broken else None
        self.world.do(self.world.store.retry)
        self.listen()

    @rule()
    def rank_0_is_killed_and_restarted(self) -> None:
        self.submits.clear()
        self.world.disk.broken = None
        self.world.restart()
        # What was not committed is gone, and its id may be the next job's: the clock has not moved.
        known = set(self.all_ids())
        self.sizes = {array: size for array, size in self.sizes.items() if array in known}
        self.needs = {job_id: array for job_id, array in self.needs.items() if job_id in known}
        self.world.tell_nodes()
        unacknowledged, self.executors.unacknowledged = self.executors.unacknowledged, []
        self.listen()
        for _, row in unacknowledged:
            self.report(*row)

    @precondition(lambda self: self.world.disk.ended())
    @rule(keep=st.integers(0, 4), twice=st.booleans())
    def purge(self, keep: int, twice: bool) -> None:
        doomed = sorted(self.world.disk.ended().items(), key=lambda item: (item[1][0], item[0]), reverse=True)[keep:]
        waited_for = {self.needs[job.id] for job in self.jobs.values() if job.state is State.DEPEND}
        ids = [job_id for job_id, _ in doomed if job_id not in waited_for]
        if not ids or self.world.by_hand or self.world.disk.broken or self.world.store.failure:
            return
        self.world.do(lambda: [self.world.router.request(JobPurge(ids=ids)) for _ in range(1 + twice)])
        self.listen()
        assert not self.world.disk.ended().keys() & set(ids)
        self.acknowledged -= set(ids)

    # -- what must be true at any time ------------------------------------------------------------------------

    @invariant()
    def no_acknowledged_job_is_lost(self) -> None:
        assert self.acknowledged <= self.jobs.keys() | self.world.disk.ended().keys()

    @invariant()
    def every_table_is_what_its_log_says(self) -> None:
        for job, tasks in self.arrays:
            replayed = Job(job.id, job.digest, job.cc)
            replayed.tasks = TaskTable(job.id, tasks.count, None)
            for event in (*self.world.disk.events(job.id), *self.world.store.uncommitted(job.id)):
                apply(replayed, *event)
            assert seen(replayed.tasks) == seen(tasks)
            assert (replayed.state, replayed.status, replayed.held) == (job.state, job.status, job.held)

    @invariant()
    def no_more_run_than_may(self) -> None:
        for _, tasks in self.arrays:
            assert not tasks.max_running or tasks.active <= tasks.max_running

    @invariant()
    def no_task_holds_anything_after_the_end(self) -> None:
        for job, tasks in self.arrays:
            if job.state is State.INACTIVE:
                assert not tasks.active
                assert not tasks.nodes

    @invariant()
    def nothing_is_held_twice_and_the_scheduler_knows_it_all(self) -> None:
        used = {0: 0, 1: 0}
        for job in self.jobs.values():
            nodes = job.allocation.nodes if job.held and job.tasks is None else ()
            for rank, cores, _ in nodes:
                assert not used[rank] & cores
                used[rank] |= cores
        for _, tasks in self.arrays:
            for nodes in tasks.nodes.values():
                for rank, text, _ in nodes:
                    cores = parse_mask(text)
                    assert not used[rank] & cores
                    used[rank] |= cores
        scheduler = self.world.manager._board.scheduler
        assert {rank: scheduler.usage(rank)[0] for rank in used} == used

    @invariant()
    def who_waits_for_resources_is_in_the_queue(self) -> None:
        waiting = {job.id for job in self.jobs.values() if job.state is State.SCHED}
        waiting |= {job.id for job, tasks in self.arrays if job.state is State.RUN and tasks.ready}
        assert set(self.world.manager._board.scheduler.in_order()) == waiting

    @invariant()
    def counts_are_those_of_a_recount(self) -> None:
        states: Counter[State] = Counter()
        results: Counter[str] = Counter()
        for job in self.jobs.values():
            if job.tasks is None:
                states[job.state] += 1
                results[result(job)] += 1
            else:
                _count(job, job.tasks, states, results)
        for job_id, (_, how) in self.world.disk.ended().items():
            if job_id not in self.jobs and job_id not in self.sizes:
                states[State.INACTIVE] += 1
                results[how] += 1
            elif job_id not in self.jobs:
                _count(*self.replayed(job_id), states, results)
        census = self.world.manager._board.census
        assert census.states == {state: states[state] for state in State}
        assert census.results == {how: results[how] for how in RESULTS}

    def replayed(self, job_id: int) -> tuple[Job, TaskTable]:
        """An array that only the store has."""
        job = Job(job_id, "", None)
        job.tasks = TaskTable(job_id, self.sizes[job_id], None)
        for event in self.world.disk.events(job_id):
            apply(job, *event)
        return job, job.tasks

    @invariant()
    def who_needs_all_of_an_array_waits_for_all_of_it(self) -> None:
        for job_id, array in self.needs.items():
            job = self.jobs.get(job_id)
            if job is not None and job.started and array in self.sizes and array in self.all_ids():
                found = self.jobs.get(array)
                tasks = self.replayed(array)[1] if found is None else found.tasks
                assert tasks is not None
                assert tasks.tally() == {"completed": tasks.count}

    @precondition(lambda self: not (self.world.by_hand or self.world.disk.broken or self.world.store.failure))
    @rule(pick=PICK)
    def tasks_are_listed_as_they_are(self, pick: int) -> None:
        arrays = [job_id for job_id in self.all_ids() if job_id in self.sizes]
        if not arrays:
            return
        array = arrays[pick % len(arrays)]
        job = self.jobs.get(array)
        tasks = self.replayed(array)[1] if job is None or job.tasks is None else job.tasks
        listed = self.ask(JobTasks(id=array)).body.tasks
        assert [row["index"] for row in listed] == list(range(tasks.count))
        assert [row["status"] for row in listed] == list(tasks.statuses)
        over = job is None or job.state is State.INACTIVE
        for row, state in zip(listed, tasks.states, strict=True):
            assert (row["state"] == "inactive") == (over or state in (DONE, CANCELED))
            assert bool(row["result"]) == (row["state"] == "inactive")

    # -- the end ----------------------------------------------------------------------------------------------

    def _bring_all_to_an_end(self) -> None:
        self.store_changes_its_pace(False)
        self.disk_breaks_or_is_mended(False)
        self.queue_is_switched(True)
        for rank in (0, 1):
            self.node_goes_or_comes(rank, True)
        for _ in range(len(self.all_ids()) + 1):
            for job in [job for job in self.jobs.values() if job.state & State.SCHED and not job.urgency]:
                self.ask(JobUrgency(id=job.id, urgency=16))
            while self.executors.running:
                self.tasks_go_on(0, 0, False)
        assert not [job for job in self.jobs.values() if job.state is not State.INACTIVE]
        assert not self.executors.unacknowledged
        assert not self.submits
        assert not self.world.disk.load().active
        assert self.acknowledged <= self.world.disk.ended().keys()
        self.counts_are_those_of_a_recount()
        self.world.restart()
        self.counts_are_those_of_a_recount()


def _count(job: Job, tasks: TaskTable, states: Counter[State], results: Counter[str]) -> None:
    waiting = tasks.counts[WAITING]
    states[State.SCHED if job.state is State.RUN else job.state] += waiting
    states[State.RUN] += tasks.counts[HELD] + tasks.counts[STARTED]
    states[State.INACTIVE] += tasks.counts[DONE] + tasks.counts[CANCELED]
    for index in range(tasks.count):
        results[tasks.result(index)] += 1
    if job.state is State.INACTIVE:
        results["canceled"] += waiting


TestArrays = ArraysUnderAnyHistory.TestCase
TestArrays.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
