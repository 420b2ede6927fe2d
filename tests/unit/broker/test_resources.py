"""Nodes as they join, leave, go torpid and are drained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fluxlike.clock import FrozenClock
from fluxlike.protocol.instance import ResourceDrain, ResourceStatus, ResourceUndrain
from fluxlike.protocol.internal import NodeJoined, NodesChanged, Usage, UsageReply
from fluxlike.protocol.message import Kind, Message
from fluxlike_broker.call import Call
from fluxlike_broker.modules.resource.service import Resources
from fluxlike_broker.service import request

NOW = 1_700_000_000.0


class Queue:
    """Stands for the job manager: hears of nodes, tells what is used."""

    def __init__(self) -> None:
        self.told: list[tuple[int, str, int, int, bool]] = []
        self.in_use: dict[int, tuple[int, int]] = {}

    @request(NodesChanged)
    def nodes(self, body: NodesChanged, call: Call) -> None:
        self.told += body.rows

    @request(Usage)
    def usage(self, body: Usage, call: Call) -> UsageReply:
        return UsageReply(usage=self.in_use)


class Notes:
    """Stands for the open batch."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self._waiting: list[Callable[[], None]] = []

    def put(self, key: str, value: str) -> None:
        self.kept[key] = value

    def after_commit(self, callback: Callable[[], None]) -> None:
        self._waiting.append(callback)

    def commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


class Stage:
    def __init__(self, net: Any, hosts: tuple[str, ...]) -> None:
        self.net = net
        self.queue, self.notes = Queue(), Notes()
        self.clock = FrozenClock(NOW)
        self.flushed = 0
        self.resources = Resources(net.router, self.clock, hosts, lambda: self.notes, self._flush)
        net.router.register(self.queue)
        net.router.register(self.resources)

    def _flush(self) -> None:
        self.flushed += 1

    def join(self, rank: int, cores: str = "0-3", gpus: str = "") -> None:
        self.net.router.request(NodeJoined(rank=rank, host=f"node{rank}", cores=cores, gpus=gpus))

    def event(self, name: str, **body: Any) -> None:
        self.net.router.handle(Message(Kind.EVENT, name, body, matchtag=1))

    def ask(self, payload: Any) -> Message:
        """The last answer; a drain is committed first."""
        self.net.ask(payload)
        self.notes.commit()
        reply: Message = self.net.replies[-1]
        return reply

    def nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask(ResourceStatus()).body.nodes
        return found


@pytest.fixture
def stage(root: Any) -> Stage:
    return Stage(root, ("node0", "node1", "node2"))


def test_nodes_are_down_until_they_join(stage: Stage) -> None:
    assert [(node["rank"], node["host"], node["up"]) for node in stage.nodes()] == [
        (0, "node0", False),
        (1, "node1", False),
        (2, "node2", False),
    ]


def test_joined_node_is_told_to_the_queue_with_what_it_has(stage: Stage) -> None:
    stage.join(1, "0-1", "0")
    assert stage.queue.told[0] == (1, "node1", 0b11, 0b1, True)


def test_node_that_never_came_is_taken_to_be_like_the_first_that_did(stage: Stage) -> None:
    stage.join(0, "0-3")
    assert stage.queue.told[1:] == [(1, "node1", 0b1111, 0, False), (2, "node2", 0b1111, 0, False)]
    stage.queue.told.clear()
    stage.join(1, "0-7")
    assert stage.queue.told == [(1, "node1", 0xFF, 0, True)]
    assert [node["cores"] for node in stage.nodes()] == ["0-3", "0-7", "0-3"]


def test_lost_node_is_not_available_and_keeps_what_it_had(stage: Stage) -> None:
    stage.join(1)
    stage.queue.told.clear()
    stage.event("overlay.left", ranks=[1], cleanly=False)
    assert stage.queue.told == [(1, "node1", 0b1111, 0, False)]
    assert (stage.nodes()[1]["up"], stage.nodes()[1]["cores"]) == (False, "0-3")


def test_torpid_node_is_up_but_not_available_until_it_wakes(stage: Stage) -> None:
    stage.join(1)
    stage.event("overlay.torpid", ranks=[1], torpid=True)
    assert stage.queue.told[-1][-1] is False
    assert (stage.nodes()[1]["up"], stage.nodes()[1]["torpid"]) == (True, True)
    stage.event("overlay.torpid", ranks=[1], torpid=False)
    assert stage.queue.told[-1][-1] is True


def test_node_that_joins_again_is_not_torpid(stage: Stage) -> None:
    stage.join(1)
    stage.event("overlay.torpid", ranks=[1], torpid=True)
    stage.join(1)
    assert stage.queue.told[-1][-1] is True


def test_status_shows_what_jobs_use(stage: Stage) -> None:
    stage.join(1, "0-3", "0-1")
    stage.queue.in_use = {1: (0b101, 0b10)}
    node = stage.nodes()[1]
    assert (node["used_cores"], node["used_gpus"], node["gpus"]) == ("0,2", "1", "0-1")
    assert stage.nodes()[0]["used_cores"] == ""


def test_drain_is_answered_when_it_is_durable(stage: Stage) -> None:
    stage.join(1)
    stage.net.ask(ResourceDrain(targets="1", reason="smoke"))
    assert (stage.net.replies, stage.flushed) == ([], 1)
    stage.notes.commit()
    assert stage.net.replies[0].body.ranks == "1"
    assert stage.notes.kept == {"drain.1": f'[{NOW}, "smoke"]'}


def test_drained_node_takes_no_jobs_until_undrained(stage: Stage) -> None:
    stage.join(1)
    stage.ask(ResourceDrain(targets="1"))
    assert stage.queue.told[-1][-1] is False
    stage.ask(ResourceUndrain(targets="1"))
    assert stage.queue.told[-1][-1] is True
    assert stage.notes.kept == {"drain.1": ""}


def test_drained_node_stays_drained_when_it_comes_back(stage: Stage) -> None:
    stage.ask(ResourceDrain(targets="1"))
    stage.join(1)
    assert next(row for row in stage.queue.told if row[0] == 1 and row[2])[-1] is False


def test_draining_again_keeps_the_time_and_changes_the_reason_only_if_one_is_given(stage: Stage) -> None:
    stage.ask(ResourceDrain(targets="1", reason="smoke"))
    stage.clock.at += 60
    stage.ask(ResourceDrain(targets="1"))
    assert (stage.nodes()[1]["drained_at"], stage.nodes()[1]["reason"]) == (NOW, "smoke")
    stage.ask(ResourceDrain(targets="1", reason="fire"))
    assert (stage.nodes()[1]["drained_at"], stage.nodes()[1]["reason"]) == (NOW, "fire")


@pytest.mark.parametrize(
    ("targets", "ranks"),
    [("0", "0"), ("0-2", "0-2"), ("0,2", "0,2"), ("node1", "1"), ("node[0,2]", "0,2"), ("node[0-1],node2", "0-2")],
)
def test_targets_are_ranks_or_hosts(stage: Stage, targets: str, ranks: str) -> None:
    assert stage.ask(ResourceDrain(targets=targets)).body.ranks == ranks


@pytest.mark.parametrize(
    ("targets", "complaint"),
    [
        ("3", "there is no rank 3; ranks are 0 to 2"),
        ("0-9", "there is no rank 3; ranks are 0 to 2"),
        ("node7", "there is no host node7; hosts are node[0-2]"),
        ("node0,elsewhere", "there is no host elsewhere; hosts are node[0-2]"),
        ("", "no rank or host is named"),
    ],
)
def test_unknown_target_is_refused_by_name_and_nothing_is_drained(stage: Stage, targets: str, complaint: str) -> None:
    assert stage.ask(ResourceDrain(targets=targets)).error == ("invalid", complaint)
    assert stage.resources.drained == 0
    assert stage.notes.kept == {}


@pytest.mark.parametrize("targets", ["0-", "node[0-", "2-1", "[0"])
def test_malformed_target_is_refused(stage: Stage, targets: str) -> None:
    error = stage.ask(ResourceDrain(targets=targets)).error
    assert error is not None
    assert error[0] == "invalid"


def test_host_of_several_ranks_is_drained_whole(root: Any) -> None:
    stage = Stage(root, ("laptop", "laptop"))
    assert stage.ask(ResourceDrain(targets="laptop")).body.ranks == "0-1"


def test_undrain_of_a_node_that_is_not_drained_is_refused_and_changes_nothing(stage: Stage) -> None:
    stage.ask(ResourceDrain(targets="1"))
    assert stage.ask(ResourceUndrain(targets="0-1")).error == ("invalid", "node0 is not drained")
    assert stage.resources.drained == 1


def test_drain_state_comes_back_after_a_restart(stage: Stage) -> None:
    stage.resources.restore({"drain.1": '[123.5, "smoke"]', "drain.2": "", "queue": "1 "})
    assert stage.resources.drained == 1
    node = stage.nodes()[1]
    assert (node["drained"], node["drained_at"], node["reason"]) == (True, 123.5, "smoke")
