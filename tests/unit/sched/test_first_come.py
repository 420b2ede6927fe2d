from __future__ import annotations

import pytest

from fluxlike.errors import FluxlikeError, NotFound, Unsatisfiable
from fluxlike.ids import encode_f58
from fluxlike.sched.first_come import FirstCome
from fluxlike.sched.interface import Allocation, Scheduler
from fluxlike.sched.request import Request

ONE_CORE = Request(0, 1, 1)


def cluster(nodes: int = 2, cores: int = 4, gpus: int = 0) -> FirstCome:
    scheduler = FirstCome()
    for rank in range(nodes):
        scheduler.define(rank, f"node{rank}", (1 << cores) - 1, (1 << gpus) - 1)
        scheduler.set_available(rank, True)
    return scheduler


def started(scheduler: FirstCome, limit: int = 1000) -> list[int]:
    return [job_id for job_id, _ in scheduler.allocate(limit)]


def given(scheduler: FirstCome, request: Request, job_id: int = 1) -> Allocation:
    scheduler.enqueue(job_id, request, 16)
    [(_, allocation)] = scheduler.allocate(1)
    return allocation


def test_it_is_a_scheduler() -> None:
    scheduler: Scheduler = FirstCome()
    assert len(scheduler) == 0


def test_higher_priority_goes_first_then_the_smaller_id() -> None:
    scheduler = cluster()
    for job_id, priority in ((5, 16), (3, 16), (4, 20), (2, 1)):
        scheduler.enqueue(job_id, ONE_CORE, priority)
    assert [scheduler.position(job_id) for job_id in (4, 3, 5, 2)] == [1, 2, 3, 4]
    assert started(scheduler) == [4, 3, 5, 2]


def test_no_more_than_the_limit_start_in_one_pass() -> None:
    scheduler = cluster()
    for job_id in range(5):
        scheduler.enqueue(job_id, ONE_CORE, 16)
    assert started(scheduler, limit=2) == [0, 1]
    assert started(scheduler, limit=0) == []
    assert started(scheduler, limit=2) == [2, 3]
    assert len(scheduler) == 1


def test_the_lowest_cores_of_the_lowest_rank_are_filled_first() -> None:
    scheduler = cluster()
    assert given(scheduler, Request(0, 3, 1), 1) == Allocation(((0, 0b0111, 0),), (3,))
    assert given(scheduler, Request(0, 3, 1), 2) == Allocation(((0, 0b1000, 0), (1, 0b0011, 0)), (1, 2))


def test_a_slot_is_never_split_over_nodes() -> None:
    scheduler = cluster()
    given(scheduler, Request(0, 1, 3), 1)
    assert given(scheduler, Request(0, 1, 2), 2).nodes == ((1, 0b0011, 0),)


def test_nodes_are_different_ones() -> None:
    assert given(cluster(), Request(2, 2, 1)) == Allocation(((0, 0b0011, 0), (1, 0b0011, 0)), (2, 2))


def test_gpus_come_from_the_node_of_their_cores() -> None:
    scheduler = cluster(gpus=2)
    given(scheduler, Request(0, 1, 1, 1), 1)
    assert given(scheduler, Request(0, 2, 1, 1), 2).nodes == ((0, 0b0010, 0b10), (1, 0b0001, 0b01))


def test_cores_with_holes_are_taken_one_by_one() -> None:
    scheduler = FirstCome()
    scheduler.define(0, "node0", 0b101101, 0)
    scheduler.set_available(0, True)
    assert given(scheduler, Request(0, 3, 1)).nodes == ((0, 0b001101, 0),)


def test_an_exclusive_job_takes_whole_idle_nodes() -> None:
    scheduler = cluster(nodes=3, gpus=1)
    given(scheduler, ONE_CORE, 1)
    assert given(scheduler, Request(1, 1, 1, 0, True), 2) == Allocation(((1, 0b1111, 0b1),), (1,))
    scheduler.enqueue(3, Request(2, 1, 1, 0, True), 16)
    assert started(scheduler) == []


def test_nothing_joins_an_exclusive_job_on_its_node() -> None:
    scheduler = cluster(nodes=1, gpus=2)
    given(scheduler, Request(1, 1, 1, 0, True), 1)
    scheduler.enqueue(2, Request(0, 1, 0, 1), 16)
    assert started(scheduler) == []
    scheduler.release(1)
    assert started(scheduler) == [2]


def test_a_head_that_does_not_fit_blocks_the_rest() -> None:
    scheduler = cluster(nodes=1)
    given(scheduler, ONE_CORE, 1)
    scheduler.enqueue(2, Request(0, 4, 1), 16)
    scheduler.enqueue(3, ONE_CORE, 16)
    assert started(scheduler) == []
    scheduler.release(1)
    assert started(scheduler) == [2]


def test_a_blocked_head_makes_way_for_a_higher_priority() -> None:
    scheduler = cluster(nodes=1)
    given(scheduler, ONE_CORE, 1)
    scheduler.enqueue(2, Request(0, 4, 1), 16)
    assert started(scheduler) == []
    scheduler.enqueue(3, ONE_CORE, 17)
    assert started(scheduler) == [3]


def test_who_waits_behind_a_blocked_head_goes_when_it_is_cancelled() -> None:
    scheduler = cluster(nodes=1)
    given(scheduler, ONE_CORE, 1)
    scheduler.enqueue(2, Request(0, 4, 1), 16)
    scheduler.enqueue(3, ONE_CORE, 16)
    assert started(scheduler) == []
    scheduler.dequeue(2)
    assert started(scheduler) == [3]


def test_a_blocked_head_that_asks_for_less_is_tried_again() -> None:
    scheduler = cluster(nodes=1)
    given(scheduler, ONE_CORE, 1)
    scheduler.enqueue(2, Request(0, 4, 1), 16)
    assert started(scheduler) == []
    scheduler.enqueue(2, Request(0, 3, 1), 16)
    assert started(scheduler) == [2]


def test_a_blocked_head_is_tried_again_when_a_node_comes_up_or_grows() -> None:
    scheduler = cluster(nodes=1)
    scheduler.enqueue(1, Request(2, 1, 4), 16)
    scheduler.define(1, "node1", 0b1, 0)
    assert started(scheduler) == []
    scheduler.set_available(1, True)
    assert started(scheduler) == []
    scheduler.define(1, "node1", 0b1111, 0)
    assert started(scheduler) == [1]


def test_a_held_job_is_never_considered_and_blocks_nobody() -> None:
    scheduler = cluster()
    scheduler.enqueue(1, ONE_CORE, 0)
    scheduler.enqueue(2, ONE_CORE, 16)
    assert scheduler.position(1) == 0
    assert scheduler.reason(1) == "held"
    assert started(scheduler) == [2]
    scheduler.reprioritize(1, 16)
    assert started(scheduler) == [1]


def test_a_job_that_is_held_again_leaves_its_place() -> None:
    scheduler = cluster()
    scheduler.enqueue(1, ONE_CORE, 16)
    scheduler.reprioritize(1, 0)
    assert started(scheduler) == []
    assert len(scheduler) == 1


def test_many_changes_of_mind_do_not_grow_the_queue() -> None:
    scheduler = cluster()
    for number in range(20_000):
        scheduler.reprioritize(7, number % 31 + 1)
        scheduler.enqueue(7, ONE_CORE, number % 31 + 1)
    assert len(scheduler._pending._heap) < 3000
    assert started(scheduler) == [7]


def test_a_job_that_asks_twice_is_started_once() -> None:
    scheduler = cluster()
    scheduler.enqueue(1, ONE_CORE, 16)
    scheduler.enqueue(1, ONE_CORE, 16)
    assert started(scheduler) == [1]
    scheduler.enqueue(1, ONE_CORE, 16)
    assert started(scheduler) == []
    assert len(scheduler) == 0


def test_no_job_starts_on_a_node_that_is_not_available() -> None:
    scheduler = cluster()
    scheduler.set_available(0, False)
    assert given(scheduler, ONE_CORE).nodes == ((1, 0b0001, 0),)


def test_a_defined_node_is_not_available_until_said_so() -> None:
    scheduler = FirstCome()
    scheduler.define(0, "node0", 0b1111, 0)
    scheduler.enqueue(1, ONE_CORE, 16)
    assert started(scheduler) == []
    assert scheduler.reason(1) == "no node is available"


def test_a_node_said_to_be_up_before_it_is_known_offers_itself_when_defined() -> None:
    scheduler = FirstCome()
    scheduler.set_available(0, True)
    scheduler.enqueue(1, ONE_CORE, 16)
    assert started(scheduler) == []
    scheduler.define(0, "node0", 0b1, 0)
    assert started(scheduler) == [1]


def test_what_is_released_on_a_drained_node_waits_for_its_return() -> None:
    scheduler = cluster(nodes=1)
    given(scheduler, Request(0, 4, 1), 1)
    scheduler.set_available(0, False)
    scheduler.enqueue(2, ONE_CORE, 16)
    scheduler.release(1)
    assert started(scheduler) == []
    scheduler.set_available(0, True)
    assert started(scheduler) == [2]


def test_usage_is_what_jobs_hold() -> None:
    scheduler = cluster(gpus=2)
    given(scheduler, Request(0, 2, 1, 1), 1)
    assert scheduler.usage(0) == (0b0011, 0b11)
    assert scheduler.usage(1) == (0, 0)
    assert scheduler.usage(99) == (0, 0)
    scheduler.release(1)
    assert scheduler.usage(0) == (0, 0)


def test_a_release_may_be_partial_and_repeated() -> None:
    scheduler = cluster()
    given(scheduler, Request(2, 1, 4), 1)
    scheduler.release(1, {0, 7})
    scheduler.release(1, {0})
    assert scheduler.usage(0) == (0, 0)
    assert scheduler.usage(1) == (0b1111, 0)
    assert given(scheduler, Request(0, 1, 4), 2).nodes == ((0, 0b1111, 0),)
    scheduler.release(1)
    scheduler.release(1)
    assert scheduler.usage(0) == (0b1111, 0)
    assert scheduler.usage(1) == (0, 0)


def test_an_adopted_job_holds_what_it_held() -> None:
    scheduler = cluster()
    scheduler.adopt(1, Allocation(((0, 0b0011, 0),), (2,)))
    scheduler.adopt(1, Allocation(((0, 0b0011, 0),), (2,)))
    assert given(scheduler, ONE_CORE, 2).nodes == ((0, 0b0100, 0),)
    scheduler.release(1)
    assert scheduler.usage(0) == (0b0100, 0)


def test_a_job_may_be_adopted_before_its_node_is_known() -> None:
    scheduler = FirstCome()
    scheduler.adopt(1, Allocation(((3, 0b0011, 0),), (2,)))
    scheduler.define(3, "node3", 0b0111, 0)
    scheduler.set_available(3, True)
    assert given(scheduler, ONE_CORE, 2).nodes == ((3, 0b0100, 0),)


def test_an_adopted_job_no_longer_waits() -> None:
    scheduler = cluster()
    scheduler.enqueue(1, ONE_CORE, 16)
    scheduler.adopt(1, Allocation(((0, 0b0001, 0),), (1,)))
    assert len(scheduler) == 0
    assert started(scheduler) == []


def test_two_jobs_cannot_adopt_the_same_core() -> None:
    scheduler = cluster()
    scheduler.adopt(1, Allocation(((0, 0b0011, 0),), (2,)))
    with pytest.raises(FluxlikeError, match="claims what another job holds on rank 0"):
        scheduler.adopt(2, Allocation(((1, 0b0001, 0), (0, 0b0110, 0)), (1, 2)))
    assert scheduler.usage(1) == (0, 0)


def test_a_node_that_came_back_smaller_gives_only_what_it_has() -> None:
    scheduler = cluster(nodes=1)
    given(scheduler, Request(0, 3, 1), 1)
    scheduler.define(0, "node0", 0b0011, 0)
    scheduler.enqueue(2, ONE_CORE, 16)
    assert started(scheduler) == []
    scheduler.release(1)
    assert [allocation.nodes for _, allocation in scheduler.allocate(9)] == [((0, 0b0001, 0),)]


def test_positions_are_those_of_now() -> None:
    scheduler = cluster(nodes=1, cores=1)
    for job_id in (1, 2, 3):
        scheduler.enqueue(job_id, ONE_CORE, 16)
    assert started(scheduler) == [1]
    assert [scheduler.position(job_id) for job_id in (2, 3)] == [1, 2]
    scheduler.reprioritize(3, 20)
    assert [scheduler.position(job_id) for job_id in (2, 3)] == [2, 1]
    scheduler.dequeue(3)
    assert scheduler.position(2) == 1


def test_only_waiting_jobs_have_a_position_and_a_reason() -> None:
    scheduler = cluster()
    given(scheduler, ONE_CORE, 1)
    for ask in (scheduler.position, scheduler.reason):
        with pytest.raises(NotFound):
            ask(1)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (Request(0, 9, 1), "needs 9 cores, 8 in all"),
        (Request(0, 1, 5), "needs 5 cores on one node, the largest node has 4"),
        (Request(0, 5, 1, 1), "needs 5 gpus, 2 in all"),
        (Request(0, 1, 1, 3), "needs 3 gpus on one node, the largest node has 2"),
        (Request(3, 1, 1), "needs 3 nodes, 2 in all"),
        (Request(1, 2, 3), "needs 6 cores on one node, the largest node has 4"),
        (Request(2, 1, 1, 1), "needs 2 nodes with 1 core and 1 gpu, 1 such in all"),
        (Request(0, 3, 3), "needs 9 cores, 8 in all"),
        (Request(0, 2, 3, 1), "needs 2 slots of 3 cores and 1 gpu, there is room for 1"),
        (Request(3, 1, 1, 0, True), "needs 3 nodes, 2 in all"),
    ],
)
def test_what_could_never_run_is_refused_with_the_limiting_resource(request_: Request, text: str) -> None:
    scheduler = FirstCome()
    scheduler.define(0, "node0", 0b1111, 0b11)
    scheduler.define(1, "node1", 0b1111, 0)
    with pytest.raises(Unsatisfiable) as caught:
        scheduler.check(request_)
    assert str(caught.value) == f"could not run even on an empty machine: {text}"


def test_down_and_busy_nodes_count_for_what_could_ever_run() -> None:
    scheduler = cluster()
    given(scheduler, Request(2, 1, 4), 1)
    scheduler.set_available(1, False)
    scheduler.check(Request(2, 4, 1, 0, True))
    scheduler.check(Request(0, 8, 1))


def test_nothing_can_run_where_no_node_is_known() -> None:
    with pytest.raises(Unsatisfiable, match="no node is available"):
        FirstCome().check(ONE_CORE)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Request(0, 4, 1), "needs 4 cores, 3 free now"),
        (Request(0, 1, 4), "needs 4 cores on one node, at most 2 free on one now"),
        (Request(2, 1, 2), "needs 2 nodes with 2 cores, 1 such free now"),
        (Request(1, 1, 1, 0, True), "no idle node is available"),
        (Request(1, 1, 1), "next"),
    ],
)
def test_the_head_says_what_it_lacks(request_: Request, reason: str) -> None:
    scheduler = cluster()
    scheduler.adopt(1, Allocation(((0, 0b0111, 0), (1, 0b0011, 0)), (3, 2)))
    scheduler.enqueue(2, request_, 16)
    assert scheduler.reason(2) == reason


def test_an_exclusive_head_counts_idle_nodes() -> None:
    scheduler = cluster()
    given(scheduler, ONE_CORE, 1)
    scheduler.enqueue(2, Request(2, 1, 1, 0, True), 16)
    assert scheduler.reason(2) == "needs 2 idle nodes, 1 free now"


def test_who_is_not_the_head_names_it() -> None:
    scheduler = cluster()
    scheduler.enqueue(1234567, Request(0, 8, 1), 16)
    scheduler.enqueue(1234568, ONE_CORE, 16)
    assert scheduler.reason(1234568) == f"behind {encode_f58(1234567)}"
