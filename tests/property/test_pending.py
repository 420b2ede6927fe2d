"""The queue of waiting jobs against a plain dictionary that is sorted when somebody asks."""

from __future__ import annotations

from itertools import islice
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fluxlike.sched import pending
from fluxlike.sched.pending import HELD, Pending
from fluxlike.sched.request import Request

ONE_CORE = Request(0, 1, 1)
JOBS = st.integers(1, 12)
PRIORITIES = st.sampled_from([HELD, 1, 16, 16, 16, 31, 2**32 - 1])


class AgreesWithSorting(RuleBasedStateMachine):
    """Few jobs and many changes, so that the heap is full of entries that no longer hold."""

    def __init__(self) -> None:
        super().__init__()
        self._slack = patch.object(pending, "_SLACK", 5)  # so that the heap is made anew now and then
        self._slack.start()
        self.queue = Pending()
        self.waiting: dict[int, int] = {}

    def teardown(self) -> None:
        self._slack.stop()

    @rule(job=JOBS, priority=PRIORITIES)
    def put(self, job: int, priority: int) -> None:
        self.queue.put(job, ONE_CORE, priority)
        self.waiting[job] = priority

    @rule(jobs=st.lists(JOBS, unique=True), priority=PRIORITIES)
    def put_many(self, jobs: list[int], priority: int) -> None:
        for job in jobs:
            self.put(job, priority)

    @rule(job=JOBS)
    def remove(self, job: int) -> None:
        self.queue.remove(job)
        self.waiting.pop(job, None)

    @precondition(lambda self: self.queue.head() is not None)
    @rule()
    def take_the_head(self) -> None:
        head = self.queue.head()
        assert head == self.order()[0]
        self.remove(head)

    @rule(number=st.integers(0, 12))
    def take_only_a_few(self, number: int) -> None:
        assert list(islice(self.queue.in_order(), number)) == self.order()[:number]

    def order(self) -> list[int]:
        """Held ones, of the lowest priority, are last."""
        return sorted(self.waiting, key=lambda job: (-self.waiting[job], job))

    @invariant()
    def order_is_that_of_sorting(self) -> None:
        assert list(self.queue.in_order()) == self.order()

    @invariant()
    def every_job_knows_its_place(self) -> None:
        for place, job in enumerate(self.order(), start=1):
            assert self.queue.position(job) == (place if self.waiting[job] != HELD else 0)

    @invariant()
    def all_are_there(self) -> None:
        assert len(self.queue) == len(self.waiting)


TestPending = AgreesWithSorting.TestCase
TestPending.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
