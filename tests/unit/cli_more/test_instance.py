"""Commands about the instance: queue, resource, overlay, uptime, dmesg, attributes, ping, exec, shutdown."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fluxlike.errors import HostUnreachable, InvalidRequest, NoSuchService, NotFound
from fluxlike.protocol.instance import (
    AttrGet,
    AttrList,
    AttrListed,
    AttrValue,
    Dmesg,
    Drained,
    ExecOutput,
    ExecRun,
    LogEntries,
    OverlayStatus,
    OverlayTree,
    Pong,
    ResourceDrain,
    ResourceNodes,
    ResourceStatus,
    ResourceUndrain,
    Shutdown,
    ShutdownProgress,
    Uptime,
    UptimeReply,
)
from fluxlike.protocol.message import ANY, Message
from fluxlike.testing.fake_broker import FakeBroker, HangUp

Fluxlike = Callable[..., Any]


def node(rank: int, **changes: Any) -> dict[str, Any]:
    row = {
        "rank": rank, "host": f"n{rank}", "up": True, "torpid": False, "drained": False, "reason": "",
        "drained_at": 0.0, "cores": "0-3", "gpus": "", "used_cores": "", "used_gpus": "",
    }  # fmt: skip
    return {**row, **changes}


def tree(rank: int, status: str, *children: dict[str, Any], **changes: Any) -> dict[str, Any]:
    row = {"rank": rank, "host": f"n{rank}", "status": status, "since": 1.0, "torpid": False}
    return {**row, "children": list(children), **changes}


def uptime_reply(**changes: Any) -> UptimeReply:
    values: dict[str, Any] = {
        "state": "run", "since": 1_700_000_000.0, "started": 1_700_000_000.0, "size": 4, "online": 4,
        "level": 0, "owner": os.geteuid(), "drained": 0, "store": "", "notices": [],
    }  # fmt: skip
    return UptimeReply(**{**values, **changes})


# -- resource


@pytest.fixture
def machine(broker: FakeBroker) -> FakeBroker:
    drained: dict[str, Any] = {"drained": True, "reason": "bad memory", "drained_at": 1_700_000_000.0}
    nodes = [
        node(0),
        node(1, used_cores="0-1"),
        node(2, used_cores="0", **drained),
        node(3, up=False),
        node(4, **drained),
    ]
    broker.on(ResourceStatus, lambda request: ResourceNodes(nodes=nodes))
    return broker


def test_resources_are_listed_by_state(fluxlike: Fluxlike, machine: FakeBroker) -> None:
    assert fluxlike("resource", "list").lines == [
        "STATE      NNODES  NCORES  NODELIST",
        "free            2       6  n[0-1]",
        "allocated       2       3  n[1-2]",
        "down            3      11  n[2-4]",
    ]
    assert fluxlike("resource", "list", "-n", "-s", "up").lines == ["up  2  8  n[0-1]"]
    assert json.loads(fluxlike("resource", "list", "--json", "-s", "all").out) == [
        {"state": "all", "nnodes": 5, "ncores": 20, "ngpus": 0, "ranks": "0-4", "nodelist": "n[0-4]"}
    ]


def test_gpus_have_a_column_where_there_are_any(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(ResourceStatus, lambda r: ResourceNodes(nodes=[node(0, gpus="0-1", used_gpus="1")]))
    assert fluxlike("resource", "list").lines == [
        "STATE      NNODES  NCORES  NGPUS  NODELIST",
        "free            1       4      1  n0",
        "allocated       1       0      1  n0",
        "down            0       0      0",
    ]


def test_unknown_resource_state_is_named(fluxlike: Fluxlike) -> None:
    result = fluxlike("resource", "list", "-s", "free,lost")
    assert result.code == 2
    assert "'lost' is not one of free, allocated, down, up, all" in result.err


def test_totals_are_one_line(fluxlike: Fluxlike, machine: FakeBroker) -> None:
    assert fluxlike("resource", "info").out == "5 Nodes, 20 Cores, 0 GPUs\n"
    assert fluxlike("resource", "info", "-s", "up").out == "2 Nodes, 8 Cores, 0 GPUs\n"
    assert json.loads(fluxlike("resource", "info", "--json").out)["nnodes"] == 5


def test_status_groups_nodes_by_what_holds_them_back(fluxlike: Fluxlike, machine: FakeBroker) -> None:
    assert fluxlike("resource", "status").lines == [
        "STATE     UP  NNODES  NODELIST",
        "avail     ✔        2  n[0-1]",
        "draining  ✔        1  n2",
        "offline   ✗        1  n3",
        "drained   ✔        1  n4",
    ]
    rows = json.loads(fluxlike("resource", "status", "--json").out)
    assert [row["state"] for row in rows] == ["avail", "avail", "draining", "offline", "drained"]


def test_drain_without_target_lists_drained_nodes(fluxlike: Fluxlike, machine: FakeBroker) -> None:
    assert fluxlike("resource", "drain").lines == [
        "TIME                 STATE     REASON      NODELIST",
        "2023-11-14 22:13:20  draining  bad memory  n2",
        "2023-11-14 22:13:20  drained   bad memory  n4",
    ]
    first = json.loads(fluxlike("resource", "drain", "--json").out)[0]
    assert (first["ranks"], first["reason"]) == ("2", "bad memory")


def test_drain_and_undrain_name_their_targets(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(ResourceDrain, lambda request: Drained(ranks="3"))
    broker.on(ResourceUndrain, lambda request: Drained(ranks="3"))
    assert fluxlike("resource", "drain", "3", "bad", "memory") == (0, "", "")
    assert fluxlike("resource", "undrain", "n[1-4]") == (0, "", "")
    assert broker.seen(ResourceDrain) == [ResourceDrain(targets="3", reason="bad memory")]
    assert broker.seen(ResourceUndrain) == [ResourceUndrain(targets="n[1-4]")]


def test_refused_target_is_one_line(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    def refuse(request: ResourceDrain) -> Drained:
        raise InvalidRequest("no rank 9 in this instance")

    broker.on(ResourceDrain, refuse)
    assert fluxlike("resource", "drain", "9") == (1, "", "fluxlike: no rank 9 in this instance\n")


# -- overlay


@pytest.fixture
def forest(broker: FakeBroker) -> FakeBroker:
    whole = tree(0, "degraded", tree(1, "full", tree(3, "full", torpid=True)), tree(2, "lost"))
    broker.on(OverlayStatus, lambda request: OverlayTree(tree=whole))
    return broker


def test_overlay_is_drawn_as_a_tree(fluxlike: Fluxlike, forest: FakeBroker) -> None:
    assert fluxlike("overlay", "status").lines == [
        "0 n0: degraded",
        "├─ 1 n1: full",
        "│  └─ 3 n3: full torpid",
        "└─ 2 n2: lost",
    ]
    assert forest.requests[0].nodeid == 0


def test_overlay_can_be_cut_down(fluxlike: Fluxlike, forest: FakeBroker) -> None:
    assert fluxlike("overlay", "status", "--summary").lines == ["0 n0: degraded"]
    assert fluxlike("overlay", "status", "--down").lines == ["0 n0: degraded", "└─ 2 n2: lost"]
    assert fluxlike("overlay", "status", "-r", "1").lines == ["1 n1: full", "└─ 3 n3: full torpid"]
    assert json.loads(fluxlike("overlay", "status", "-r", "2", "--json").out)["status"] == "lost"


def test_overlay_marks_brokers_by_rank_or_host(fluxlike: Fluxlike, forest: FakeBroker) -> None:
    for target in ("2", "n2", "[2]", "n[2,9]"):
        lines = fluxlike("overlay", "status", "-H", target).lines
        assert [line for line in lines if "<--" in line] == ["└─ 2 n2: lost <--"]


def test_overlay_tells_for_how_long(fluxlike: Fluxlike, forest: FakeBroker) -> None:
    assert re.fullmatch(r"0 n0: degraded for [\d.]+\w+", fluxlike("overlay", "status", "-v").lines[0])


def test_overlay_of_an_unknown_rank_is_an_error(fluxlike: Fluxlike, forest: FakeBroker) -> None:
    result = fluxlike("overlay", "status", "-r", "9")
    assert result.code == 1
    assert result.err.startswith("fluxlike: no rank 9 ")


def test_overlay_waits_until_the_tree_is_as_wanted(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    states = iter(["partial", "partial", "full"])
    broker.on(OverlayStatus, lambda request: OverlayTree(tree=tree(0, next(states))))
    assert fluxlike("overlay", "status", "-w", "full", "-t", "1m").lines == ["0 n0: full"]


def test_overlay_gives_up_when_the_time_is_up(fluxlike: Fluxlike, forest: FakeBroker) -> None:
    result = fluxlike("overlay", "status", "-w", "full", "-t", "0")
    assert result == (1, "", "fluxlike: rank 0 is degraded, not full, after 0 s\n")


# -- uptime, dmesg, attributes


def test_uptime_is_one_line_and_one_for_each_notice(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(
        Uptime,
        lambda request: uptime_reply(drained=1, online=3, owner=4_000_000, notices=["scheduling is stopped"]),
    )
    first, second = fluxlike("uptime").lines
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d run [\d.]+\w+,  owner 4000000,  depth 0,  size 4,  1 drained,  1 offline", first
    )
    assert second == "  scheduling is stopped"


def test_uptime_of_a_healthy_instance_tells_its_store(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(Uptime, lambda request: uptime_reply(store="memory"))
    line, store = fluxlike("uptime").lines
    assert line.endswith(",  depth 0,  size 4")
    assert store == "  store: memory"
    assert broker.requests[0].nodeid == 0
    assert json.loads(fluxlike("uptime", "--json").out)["size"] == 4


LOG = [
    [1_700_000_000.0, 3, "INFO", "fluxlike.overlay", "joined"],
    [1_700_000_000.5, 3, "WARNING", "fluxlike.exec", "two\nlines"],
]


def test_log_is_printed_with_time_level_and_rank(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(Dmesg, lambda request: iter([LogEntries(entries=LOG), LogEntries(entries=[])]))
    assert fluxlike("dmesg", "--rank", "3").lines == [
        "2023-11-14T22:13:20.000000Z fluxlike.overlay.info[3]: joined",
        "2023-11-14T22:13:20.500000Z fluxlike.exec.warning[3]: two",
        "    lines",
    ]
    assert broker.requests[0].nodeid == 3
    assert fluxlike("dmesg", "-H").lines[1] == "[  +0.500000] fluxlike.exec.warning[3]: two"
    assert json.loads(fluxlike("dmesg", "--json").lines[1])["text"] == "two\nlines"


def test_log_is_followed_on_demand(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(Dmesg, lambda request: iter([LogEntries(entries=LOG)]))
    fluxlike("dmesg", "-f")
    assert broker.seen(Dmesg)[0].follow


def test_attributes_are_read_and_listed(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    broker.on(AttrList, lambda request: AttrListed(attrs={"size": "4", "broker.pid": "77"}))
    broker.on(AttrGet, lambda request: AttrValue(name=request.name, value="4"))
    assert fluxlike("getattr", "--rank", "2", "size").out == "4\n"
    assert broker.requests[0].nodeid == 2
    assert fluxlike("lsattr").lines == ["broker.pid", "size"]
    assert fluxlike("lsattr", "-v").lines == ["broker.pid  77", "size        4"]
    assert json.loads(fluxlike("lsattr", "--json").out) == {"broker.pid": "77", "size": "4"}


def test_unknown_attribute_is_an_error(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    def refuse(request: AttrGet) -> AttrValue:
        raise NotFound("no attribute 'sise'; did you mean 'size'?")

    broker.on(AttrGet, refuse)
    assert fluxlike("getattr", "sise") == (1, "", "fluxlike: no attribute 'sise'; did you mean 'size'?\n")


# -- ping


@pytest.fixture
def echo(broker: FakeBroker) -> FakeBroker:
    def pong(message: Message) -> Pong:
        route = [0] if message.nodeid == ANY else [0, 1, message.nodeid]
        return Pong(rank=route[-1], userid=0, route=route, pad=message.body["pad"])

    broker.on_topic("broker.ping", pong)
    return broker


def test_ping_prints_route_and_time(fluxlike: Fluxlike, echo: FakeBroker) -> None:
    lines = fluxlike("ping", "-c", "2", "-i", "1ms", "-p", "10", "3").lines
    assert len(lines) == 2
    assert re.fullmatch(r"3!broker\.ping pad=10 seq=1 time=\d+\.\d{3} ms \(0!1!3\)", lines[1])


@pytest.mark.parametrize(
    ("args", "rank"), [(["3"], 3), (["3!broker"], 3), (["-r", "3", "broker"], 3), (["-r", "3"], 3), ([], ANY)]
)
def test_ping_takes_rank_and_service_in_many_ways(
    fluxlike: Fluxlike, echo: FakeBroker, args: list[str], rank: int
) -> None:
    assert fluxlike("ping", "-c", "1", *args).code == 0
    assert echo.requests[0].nodeid == rank


def test_ping_of_an_unknown_service_fails(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    def refuse(message: Message) -> object:
        raise NoSuchService("no service 'nope'")

    broker.on_topic("nope.ping", refuse)
    assert fluxlike("ping", "-c", "1", "nope") == (1, "", "fluxlike: no service 'nope'\n")


@pytest.mark.parametrize("args", [["x!broker"], ["-r", "2", "3"], ["!broker"]])
def test_ping_refuses_a_target_that_makes_no_sense(fluxlike: Fluxlike, args: list[str]) -> None:
    assert fluxlike("ping", "-c", "1", *args).code == 2


# -- exec


def remote(script: dict[int, list[ExecOutput]]) -> Callable[[Message], Iterator[ExecOutput]]:
    return lambda message: iter(script[message.nodeid])


def out(data: bytes, stream: str = "stdout") -> ExecOutput:
    return ExecOutput(stream=stream, data=data)


@pytest.fixture
def four_ranks(broker: FakeBroker) -> FakeBroker:
    broker.on(Uptime, lambda request: uptime_reply())
    return broker


def test_command_runs_on_all_ranks_with_labels_and_the_largest_exit_code(
    fluxlike: Fluxlike, four_ranks: FakeBroker
) -> None:
    script = {rank: [out(b"a\nb"), ExecOutput(status=rank << 8)] for rank in range(4)}
    four_ranks.on_topic("rexec.run", remote(script))
    result = fluxlike("exec", "-l", "ls", "-l", "--json")
    assert result.code == 3
    assert sorted(result.lines) == sorted(f"{rank}: {text}" for rank in range(4) for text in "ab")
    request = four_ranks.seen(ExecRun)[0]
    assert request.command == ["ls", "-l", "--json"]
    assert request.cwd == os.getcwd()
    assert "PATH" in request.env
    assert "FLUXLIKE_URI" not in request.env


def test_ranks_are_chosen_and_excluded(fluxlike: Fluxlike, four_ranks: FakeBroker) -> None:
    four_ranks.on_topic("rexec.run", remote({rank: [ExecOutput(status=0)] for rank in range(4)}))
    assert fluxlike("exec", "-r", "1-3", "-x", "2", "-n", "-d", "/tmp", "true").code == 0
    runs = [message for message in four_ranks.requests if message.topic == "rexec.run"]
    assert [message.nodeid for message in runs] == [1, 3]
    assert four_ranks.seen(ExecRun)[0].cwd == "/tmp"


@pytest.mark.parametrize("options", [["-r", "0-9"], ["-r", "1", "-x", "1"], ["-r", "one"]])
def test_exec_refuses_ranks_that_are_not_there(fluxlike: Fluxlike, four_ranks: FakeBroker, options: list[str]) -> None:
    result = fluxlike("exec", *options, "true")
    assert result.code == 1
    assert result.err.startswith("fluxlike: ")
    assert not four_ranks.seen(ExecRun)


def test_output_goes_to_the_stream_it_came_from(fluxlike: Fluxlike, four_ranks: FakeBroker) -> None:
    script = {0: [out(b"yes\n"), out(b"no\n", "stderr"), ExecOutput(status=signal.SIGTERM)]}
    four_ranks.on_topic("rexec.run", remote(script))
    assert fluxlike("exec", "-r", "0", "x") == (128 + 15, "yes\n", "no\n")


def test_last_line_is_passed_on_without_a_line_break(fluxlike: Fluxlike, four_ranks: FakeBroker) -> None:
    four_ranks.on_topic("rexec.run", remote({0: [out(b"a"), out(b"b"), ExecOutput(status=0)]}))
    assert fluxlike("exec", "-r", "0", "x").out == "ab"


def test_rank_that_is_lost_does_not_spoil_the_others(fluxlike: Fluxlike, four_ranks: FakeBroker) -> None:
    def run(message: Message) -> Iterator[ExecOutput]:
        if message.nodeid == 1:
            raise HostUnreachable("rank 1 is lost")
        yield from [out(b"ok\n"), ExecOutput(status=0)]

    four_ranks.on_topic("rexec.run", run)
    result = fluxlike("exec", "-r", "0-1", "x")
    assert result == (68, "ok\n", "fluxlike: rank 1: rank 1 is lost\n")


@pytest.mark.parametrize(("error", "code"), [("x: No such file or directory", 127), ("/etc: Permission denied", 126)])
def test_command_that_cannot_start_ends_as_in_a_shell(
    fluxlike: Fluxlike, four_ranks: FakeBroker, error: str, code: int
) -> None:
    four_ranks.on_topic("rexec.run", remote({0: [ExecOutput(error=error)]}))
    assert fluxlike("exec", "-r", "0", "x") == (code, "", f"fluxlike: rank 0: {error}\n")


def test_stream_that_ends_without_a_status_is_a_failure(fluxlike: Fluxlike, four_ranks: FakeBroker) -> None:
    four_ranks.on_topic("rexec.run", remote({0: [out(b"x\n")]}))
    result = fluxlike("exec", "-r", "0", "x")
    assert result.code == 1
    assert "without an exit status" in result.err


def test_interrupt_hangs_up_which_ends_the_commands(fluxlike: Fluxlike, four_ranks: FakeBroker) -> None:
    def run(message: Message) -> Iterator[ExecOutput]:
        yield out(b"started\n")
        os.kill(os.getpid(), signal.SIGINT)
        four_ranks.wait_until(lambda: four_ranks.connections == 0)

    four_ranks.on_topic("rexec.run", run)
    assert fluxlike("exec", "-r", "0", "sleep", "inf").code == 130
    four_ranks.wait_until(lambda: four_ranks.connections == 0)


# -- shutdown


@pytest.fixture
def ending(broker: FakeBroker) -> FakeBroker:
    """A broker that tells two things, takes its folder away, and hangs up."""
    folder = os.path.dirname(broker.uri.removeprefix("local://"))

    def shutdown(request: Shutdown) -> Iterator[ShutdownProgress]:
        yield ShutdownProgress(text="cancelling 3 jobs")
        yield ShutdownProgress(text="waiting for 2 brokers")
        shutil.rmtree(folder)
        raise HangUp

    broker.on(Shutdown, shutdown)
    return broker


def test_shutdown_tells_how_it_goes_and_returns_when_the_instance_is_gone(
    fluxlike: Fluxlike, ending: FakeBroker
) -> None:
    assert fluxlike("shutdown") == (0, "", "cancelling 3 jobs\nwaiting for 2 brokers\n")
    assert ending.requests[0].nodeid == 0


def test_shutdown_can_be_quiet(fluxlike: Fluxlike, ending: FakeBroker) -> None:
    assert fluxlike("shutdown", "--quiet") == (0, "", "")


def test_shutdown_waits_until_nobody_lives_in_the_folder(fluxlike: Fluxlike, broker: FakeBroker) -> None:
    folder = os.path.dirname(broker.uri.removeprefix("local://"))
    lock = open(os.path.join(folder, "broker.lock"), "w")  # noqa: SIM115  held until the remover lets go
    fcntl.flock(lock, fcntl.LOCK_EX)
    hung_up = threading.Event()

    def shutdown(request: Shutdown) -> Iterator[ShutdownProgress]:
        yield ShutdownProgress(text="bye")
        hung_up.set()
        raise HangUp

    def let_go() -> None:
        hung_up.wait(10)
        broker.wait_until(lambda: broker.connections == 0)
        shutil.rmtree(folder)
        lock.close()

    broker.on(Shutdown, shutdown)
    remover = threading.Thread(target=let_go)
    remover.start()
    assert fluxlike("shutdown", "--quiet").code == 0
    assert not os.path.exists(folder)
    remover.join()


def test_shutdown_does_not_wait_for_ever_for_a_folder_that_nobody_removes(
    fluxlike: Fluxlike, broker: FakeBroker
) -> None:
    def shutdown(request: Shutdown) -> Iterator[ShutdownProgress]:
        yield ShutdownProgress(text="bye")
        raise HangUp

    broker.on(Shutdown, shutdown)
    assert fluxlike("shutdown", "--quiet").code == 0


def test_shutdown_without_an_instance_says_so(fluxlike: Fluxlike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXLIKE_URI", "local:///nowhere/local-0")
    result = fluxlike("shutdown")
    assert result.code == 1
    assert result.err.startswith("fluxlike: no instance listens at")
