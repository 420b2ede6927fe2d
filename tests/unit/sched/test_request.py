from __future__ import annotations

from typing import Any

import pytest

from fluxlike.errors import InvalidRequest, Unsatisfiable
from fluxlike.jobspec.model import Count, Jobspec, Resource, Task
from fluxlike.sched.request import Request, request_of


def resource(kind: str, number: int = 1, *children: Resource, exclusive: bool | None = None) -> Resource:
    return Resource(kind, Count.exactly(number), exclusive=exclusive, children=children)


def spec(*resources: Resource, **system: Any) -> Jobspec:
    return Jobspec(1, resources, (Task(("true",), "task", per_slot=1),), {"system": {"duration": 0, **system}})


def test_slots_without_nodes_may_go_anywhere() -> None:
    jobspec = spec(resource("slot", 5, resource("core", 2), resource("gpu", 1)))
    assert request_of(jobspec) == Request(0, 5, 2, 1, False)


def test_slots_inside_nodes_are_counted_per_node() -> None:
    jobspec = spec(resource("node", 3, resource("slot", 2, resource("core", 4))))
    assert request_of(jobspec) == Request(3, 2, 4, 0, False)


def test_an_exclusive_node_is_asked_for_whole() -> None:
    jobspec = spec(resource("node", 2, resource("slot", 1, resource("core")), exclusive=True))
    assert request_of(jobspec) == Request(2, 1, 1, 0, True)


def test_an_exclusive_slot_is_what_every_slot_is() -> None:
    jobspec = spec(resource("slot", 2, resource("core"), exclusive=True))
    assert request_of(jobspec) == Request(0, 2, 1, 0, False)


def test_a_slot_may_hold_gpus_alone() -> None:
    assert request_of(spec(resource("slot", 2, resource("gpu", 4)))) == Request(0, 2, 0, 4)


def test_ranges_ask_for_their_least() -> None:
    core = Resource("core", Count(2, 8))
    slot = Resource("slot", Count(3, None, "*", 2), label="task", children=(core,))
    node = Resource("node", Count(4, 16), children=(slot,))
    assert request_of(spec(node)) == Request(4, 3, 2)


@pytest.mark.parametrize(
    ("jobspec", "what"),
    [
        (
            spec(resource("slot", 1, resource("core"), resource("memory", 4))),
            "'memory' resources inside a slot",
        ),
        (
            spec(resource("slot", 1, resource("socket", 1, resource("core")))),
            "'socket' resources inside a slot",
        ),
        (spec(resource("slot", 1, resource("core", 1, resource("pu")))), "resources inside a core"),
        (
            spec(resource("node", 1, resource("socket", 1, resource("slot")))),
            "anything but one slot inside a node",
        ),
        (
            spec(resource("node", 1, resource("slot"), resource("slot"))),
            "anything but one slot inside a node",
        ),
        (spec(resource("rack", 1, resource("node"))), "'rack' resources at the top"),
        (spec(resource("slot"), resource("slot")), "more than one resource at the top"),
        (spec(resource("slot", 1, resource("core")), constraints={"properties": ["a"]}), "constraints"),
    ],
)
def test_what_cannot_be_matched_is_refused_in_plain_words(jobspec: Jobspec, what: str) -> None:
    with pytest.raises(Unsatisfiable) as caught:
        request_of(jobspec)
    assert str(caught.value).startswith(f"the first-come scheduler cannot match {what};")


@pytest.mark.parametrize("numbers", [(-1, 1, 1, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 1, -1, 2), (0, 1, 1, -1)])
def test_numbers_that_ask_for_nothing_are_no_request(numbers: tuple[int, int, int, int]) -> None:
    with pytest.raises(InvalidRequest, match="not a request"):
        Request(*numbers)


def test_equal_requests_are_one_key() -> None:
    assert len({Request(0, 1, 1), Request(0, 1, 1, 0, False), Request(0, 1, 2)}) == 2
    assert Request(0, 1, 1) != (0, 1, 1, 0, False)
