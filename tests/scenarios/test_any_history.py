"""Any order of requests, news, commits, failures and restarts: no acknowledged job is lost, none is started twice, what
is counted, listed and told of them is what the store says, and in the end all of them can be brought to theirs."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scenario_stage.executors import Executors
from scenario_stage.world import BEGAN, World

from fluxlike.job.job import Event, Job, apply, result
from fluxlike.job.states import MASKS, PENDING, RESULTS, RUNNING, State
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.internal import JobReports
from fluxlike.protocol.jobs import JobJournal, JobList, JobRaise, JobUpdate, JobUrgency, QueueStart, QueueStop, Submit
from fluxlike.protocol.message import Flag
from fluxlike_broker.modules.job_manager import board

PICK = st.integers(0, 50)
SCHEMES = st.sampled_from(["afterok", "afterany", "afternotok", "afterexcept", "afterstart"])
KEYS = st.sampled_from(["", "", "morning", "evening"])
NOT_FROM_EVENTS = ("spec", "allocation", "launched", "retired", "annotations")
FEW = 2
"""Ended jobs that stay in memory here, so that most questions about them do go to the store."""


class JobManagerUnderAnyHistory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._few = patch.object(board, "RECENT", FEW)
        self._few.start()
        self.world = World()
        self.executors = Executors()
        self.submits: dict[int, tuple[str, int]] = {}
        """tag of a submit not yet answered -> its key and how many jobs it asked for"""
        self.acknowledged: set[int] = set()
        self.keys: dict[str, list[int]] = {}
        """key -> the ids that were answered first"""
        self.listen_to_the_journal()

    def teardown(self) -> None:
        try:
            self._bring_all_to_an_end()
        finally:
            self.world.close()
            self._few.stop()

    # -- doing ------------------------------------------------------------------------------------------------

    @property
    def jobs(self) -> dict[int, Job]:
        return self.world.manager._board.jobs

    def listen(self) -> None:
        """Read what happened; the executors act on it, and the client remembers what it was promised."""
        for line in self.world.tape.take():
            assert not line.startswith(("BROKEN", "log error")), line
            assert "internal" not in line, line
            self.executors.hear(line)
        answered = self.world.client.answered
        for tag in [tag for tag in self.submits if tag in answered]:
            key, count = self.submits.pop(tag)
            if answered[tag].error is None:
                self.promised(key, count, answered[tag].body.ids)
        self.executors.unacknowledged = [
            (tag, row) for tag, row in self.executors.unacknowledged if tag not in answered
        ]

    def promised(self, key: str, count: int, ids: list[int]) -> None:
        assert len(ids) == count
        self.acknowledged |= set(ids)
        if key:
            assert self.keys.setdefault(key, ids) == ids

    def listen_to_the_journal(self) -> None:
        self.journal = self.world.ask(JobJournal(), Flag.STREAM)
        # What a restart posts at once, a timeout that came meanwhile, is applied before anybody can listen.
        self.before_journal = {job_id: len(self.world.disk.events(job_id)) for job_id in self.all_ids()}
        self.before_journal |= {job.id: job.seq for job in self.jobs.values() if not job.retired}

    def report(self, *row: Any) -> None:
        tag = self.world.ask(JobReports(rows=[row]))
        self.executors.unacknowledged.append((tag, row))
        self.listen()

    def all_ids(self) -> list[int]:
        """Jobs in memory, and those that only the store still knows."""
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
        tasks=st.integers(1, 3),
        copies=st.integers(1, 3),
        limit=st.sampled_from([0.0, 30.0]),
        urgency=st.sampled_from([0, 16, 16, 16, 31]),
        key=KEYS,
    )
    def submit(self, tasks: int, copies: int, limit: float, urgency: int, key: str) -> None:
        self._submit(from_command(["true"], ntasks=tasks, duration=limit), copies, urgency, key)

    @precondition(lambda self: self.all_ids())
    @rule(scheme=SCHEMES, pick=PICK, second=SCHEMES, other=PICK, key=KEYS)
    def submit_after_others(self, scheme: str, pick: int, second: str, other: int, key: str) -> None:
        dependencies = [
            {"scheme": scheme, "value": str(self.known(pick))},
            {"scheme": second, "value": str(self.known(other))},
        ]
        self._submit(from_command(["true"], dependencies=dependencies), 1, 16, key)

    @rule(schemes=st.lists(SCHEMES, min_size=1, max_size=3))
    def submit_after_one_another(self, schemes: list[str]) -> None:
        links = [[0, "first"], *([0, scheme, [[scheme, index]]] for index, scheme in enumerate(schemes))]
        self._ask_for(Submit(specs=[from_command(["true"])], jobs=links))

    @rule(seconds=st.integers(-10, 100))
    def submit_for_later(self, seconds: int) -> None:
        begin = {"scheme": "begin-time", "value": repr(self.world.clock.at + seconds)}
        self._submit(from_command(["true"], dependencies=[begin]), 1, 16)

    def _submit(self, spec: dict[str, Any], copies: int, urgency: int, key: str = "") -> None:
        rows = [[0, str(copy)] for copy in range(copies)]
        self._ask_for(Submit(specs=[spec], jobs=rows, urgency=urgency, key=key))

    def _ask_for(self, jobs: Submit) -> None:
        self.submits[self.world.ask(jobs)] = (jobs.key, len(jobs.jobs))
        self.listen()

    @precondition(lambda self: self.all_ids())
    @rule(pick=PICK, severity=st.sampled_from([0, 0, 3]))
    def raise_exception(self, pick: int, severity: int) -> None:
        self.world.ask(JobRaise(ids=[self.known(pick)], severity=severity, note="why not"))
        self.listen()

    @precondition(lambda self: self.jobs)
    @rule(pick=PICK, duration=st.sampled_from([0, 20, 90, "+30", "-10"]), name=st.sampled_from(["a", "b"]))
    def update(self, pick: int, duration: int | str, name: str) -> None:
        self.world.ask(JobUpdate(id=self.known(pick), updates={"duration": duration, "name": name}))
        self.listen()

    @rule()
    def cancel_all_pending(self) -> None:
        self.world.ask(JobRaise(ids=[], states=["pending"]))
        self.listen()

    @precondition(lambda self: self.all_ids())
    @rule(pick=PICK, urgency=st.sampled_from([0, 1, 16, 31]))
    def change_urgency(self, pick: int, urgency: int) -> None:
        self.world.ask(JobUrgency(id=self.known(pick), urgency=urgency))
        self.listen()

    @precondition(lambda self: self.executors.running)
    @rule(pick=PICK, status=st.sampled_from([0, 0, 256, 9]), broken=st.booleans())
    def tasks_go_on(self, pick: int, status: int, broken: bool) -> None:
        """A job's tasks report their start, or else their end."""
        running = sorted(self.executors.running)
        name = running[pick % len(running)]
        job_id, now = self.world.tape.id_of(name), self.world.clock.now()
        if not self.executors.running[name] and not broken:
            self.executors.running[name] = True
            self.report(job_id, "start", now, None)
            return
        del self.executors.running[name]
        if broken:
            context = {"type": "exec", "severity": 0, "note": "no such command"}
            self.report(job_id, "exception", now, context)
        self.report(job_id, "finish", now, {"status": status})

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
        self.world.ask(QueueStart() if started else QueueStop(reason="lunch"))
        self.listen()

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
        self.submits.clear()  # nobody was promised anything
        self.world.disk.broken = None  # with a broken store it would not start at all
        self.world.restart()
        self.listen_to_the_journal()
        self.world.tell_nodes()
        unacknowledged, self.executors.unacknowledged = self.executors.unacknowledged, []
        self.listen()
        for _, row in unacknowledged:
            self.report(*row)

    # -- what must be true at any time ------------------------------------------------------------------------

    @invariant()
    def no_acknowledged_job_is_lost(self) -> None:
        assert self.acknowledged <= self.jobs.keys() | self.world.disk.ended().keys()

    @invariant()
    def every_job_is_what_its_log_says(self) -> None:
        for job in self.jobs.values():
            replayed = Job(job.id, job.digest, job.cc)
            for event in (*self.world.disk.events(job.id), *self.world.store.uncommitted(job.id)):
                apply(replayed, *event)
            compared = [name for name in Job.__slots__ if name not in NOT_FROM_EVENTS]
            assert [getattr(replayed, n) for n in compared] == [getattr(job, n) for n in compared]

    @invariant()
    def job_is_retired_when_its_end_is_committed(self) -> None:
        ended = self.world.disk.ended()
        for job in self.jobs.values():
            assert job.retired == (job.id in ended)

    @invariant()
    def few_ended_jobs_stay_in_memory(self) -> None:
        assert sum(job.retired for job in self.jobs.values()) <= FEW

    @invariant()
    def counts_are_those_of_a_recount(self) -> None:
        census, jobs = self.world.manager._board.census, self.jobs.values()
        results = {job_id: how for job_id, (_, how) in self.world.disk.ended().items()}
        results |= {job.id: result(job) for job in jobs if job.state is State.INACTIVE}
        active = Counter(job.state for job in jobs if job.state is not State.INACTIVE)
        assert census.states == {state: active[state] for state in State} | {State.INACTIVE: len(results)}
        assert census.results == {how: list(results.values()).count(how) for how in RESULTS}
        assert census.running == {job.id: job for job in jobs if job.state & RUNNING}
        early = State.NEW | State.DEPEND | State.PRIORITY
        assert census.early == {job.id: job for job in jobs if job.state & early}
        assert census.pending_count == len([job for job in jobs if job.state & PENDING])
        assert census.running_count == len(census.running)

    @invariant()
    def journal_has_told_all_that_is_committed_and_nothing_else(self) -> None:
        told: dict[int, list[Any]] = {}
        for body in self.world.client.streamed[self.journal]:
            for job_id, *row in body.events:
                told.setdefault(job_id, []).append(row)
        for job_id in {*told, *self.all_ids()}:
            before = self.before_journal.get(job_id, 0)
            events: list[Event] = self.world.disk.events(job_id)[before:]
            numbered = [[number, *event] for number, event in enumerate(events, start=before)]
            assert told.get(job_id, []) == numbered

    @invariant()
    def active_jobs_are_listed_in_their_order(self) -> None:
        assert self.pages(["active"], 3) == [job.id for job in self.active_in_order()]

    def active_in_order(self) -> list[Job]:
        def place(job: Job) -> tuple[Any, ...]:
            if job.state is State.SCHED:
                return (0, -job.priority, job.id)
            return (1, job.id) if job.state & PENDING else (2, -job.t_run, -job.id)

        return sorted((job for job in self.jobs.values() if job.state is not State.INACTIVE), key=place)

    @precondition(lambda self: not (self.world.by_hand or self.world.disk.broken or self.world.store.failure))
    @rule(names=st.sets(st.sampled_from([*MASKS, *RESULTS])), limit=st.integers(1, 5))
    def pages_of_a_listing_are_a_sorted_scan(self, names: set[str], limit: int) -> None:
        mask = 0
        for name in names or MASKS:
            mask |= MASKS.get(name, 0)
        results = RESULTS if mask & State.INACTIVE else names
        ended = [(when, job_id) for job_id, (when, how) in self.world.disk.ended().items() if how in results]
        active = [job.id for job in self.active_in_order() if job.state & mask]
        assert self.pages(sorted(names), limit) == [*active, *(job_id for _, job_id in sorted(ended, reverse=True))]

    def pages(self, states: list[str], limit: int) -> list[int]:
        found: list[int] = []
        cursor = ""
        while True:
            page = self.world.client.answered[self.world.ask(JobList(states=states, limit=limit, cursor=cursor))].body
            assert len(page.jobs) == limit or not page.cursor
            found += [record["id"] for record in page.jobs]
            cursor = page.cursor
            if not cursor:
                return found

    @invariant()
    def nothing_is_held_twice_and_the_scheduler_knows_it_all(self) -> None:
        used = {0: 0, 1: 0}
        for job in self.jobs.values():
            for rank, cores, _ in job.allocation.nodes if job.held else ():
                assert not used[rank] & cores
                used[rank] |= cores
        scheduler = self.world.manager._board.scheduler
        assert {rank: scheduler.usage(rank)[0] for rank in used} == used

    @invariant()
    def jobs_that_wait_for_resources_are_those_in_the_queue(self) -> None:
        waiting = [job for job in self.jobs.values() if job.state is State.SCHED]
        assert len(self.world.manager._board.scheduler) == len(waiting)

    # -- the end ----------------------------------------------------------------------------------------------

    def _bring_all_to_an_end(self) -> None:
        self.store_changes_its_pace(False)
        self.disk_breaks_or_is_mended(False)
        self.queue_is_switched(True)
        for rank in (0, 1):
            self.node_goes_or_comes(rank, True)
        self.time_passes(200)
        for _ in range(len(self.all_ids()) + 1):
            for job in [job for job in self.jobs.values() if job.state & State.SCHED and not job.urgency]:
                self.world.ask(JobUrgency(id=job.id, urgency=16))
                self.listen()
            while self.executors.running:
                self.tasks_go_on(0, 0, False)
        unfinished = [job for job in self.jobs.values() if job.state is not State.INACTIVE]
        assert not unfinished
        assert not self.executors.unacknowledged
        assert not self.submits
        assert not self.world.disk.load().active
        assert self.acknowledged | self.jobs.keys() <= self.world.disk.ended().keys()
        assert self.world.clock.at > BEGAN


TestJobManager = JobManagerUnderAnyHistory.TestCase
TestJobManager.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
