"""Brokers that find each other by one TOML file, over TCP with CURVE."""

from __future__ import annotations

import socket
import subprocess
from contextlib import ExitStack
from typing import Any

import msgpack
import pytest
import zmq

from fluxlike import __version__
from fluxlike.config import curve
from fluxlike.testing.garbage import STREAMS, connected, dealer, message, push, throw
from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

SIZE = 3


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """Three hosts, all of them this one."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.ports = free_ports(SIZE)
        self.cert = site.root / "curve.cert"
        assert site.cli("keygen", str(self.cert)).returncode == 0
        self.conf = self.write("cluster.toml", str(self.cert))

    def write(self, name: str, cert: str) -> str:
        hosts = "".join(
            f'  {{ host = "node{rank}", bind = "tcp://127.0.0.1:{port}", connect = "tcp://127.0.0.1:{port}" }},\n'
            for rank, port in enumerate(self.ports)
        )
        path = self.site.root / name
        path.write_text(f'[bootstrap]\ncurve_cert = "{cert}"\nhosts = [\n{hosts}]\n')
        return str(path)

    def options(self, rank: int, conf: str = "") -> list[str]:
        return ["start", *self.site.options(), "--conf", conf or self.conf, "--rank", str(rank)]

    def launch(self, rank: int, *more: str, conf: str = "") -> subprocess.Popen[Any]:
        """A broker in the foreground, as a pod has it."""
        return self.site.popen(*self.options(rank, conf), *more)

    def root(self, *more: str) -> Instance:
        """Rank 0, once there is a quorum."""
        done = self.site.cli(*self.options(0), "--detach", *more)
        assert done.returncode == 0, done
        flux = Instance(self.site, done.stdout.strip(), None)
        self.site.instances.append(flux)
        return flux


@pytest.fixture
def cluster(site: Site) -> Cluster:
    return Cluster(site)


def test_three_brokers_of_one_file_make_an_instance(cluster: Cluster) -> None:
    others = [cluster.launch(rank) for rank in (2, 1)]
    flux = cluster.root()
    flux.settle()
    assert flux.attr("size") == "3"
    assert flux.attr("hostlist") == "node[0-2]"
    assert flux.health() == {0: "full", 1: "full", 2: "full"}
    job = flux.sh("echo $FLUX_TASK_RANK", nnodes=3, ntasks=3)
    assert flux.wait(job).result == "completed"
    assert flux.client.job(job).nodelist == "node[0-2]"
    assert sorted(flux.output(job).split()) == [b"0", b"1", b"2"]
    assert flux.cli("shutdown", "--quiet").returncode == 0
    assert [other.wait(15) for other in others] == [0, 0]


def test_the_program_of_rank_0_decides_its_exit_status(cluster: Cluster) -> None:
    others = [cluster.launch(rank) for rank in (1, 2)]
    done = cluster.site.cli(*cluster.options(0), "--", "sh", "-c", "fluxlike run -N3 -n3 true && exit 6")
    assert done.returncode == 6, done
    assert [other.wait(15) for other in others] == [0, 0]


def test_a_late_joiner_is_taken_in_when_the_quorum_is_smaller(cluster: Cluster) -> None:
    cluster.launch(1)
    flux = cluster.root("-S", "broker.quorum=2")
    wait_until(lambda: flux.health() == {0: "partial", 1: "full", 2: "offline"}, show=flux.health)
    wait_until(lambda: [node["up"] for node in flux.nodes()] == [True, True, False], show=flux.nodes)
    assert flux.wait(flux.sh("true", nnodes=2, ntasks=2)).result == "completed"
    waiting = flux.sh("true", nnodes=3, ntasks=3)
    assert flux.client.job(waiting).state == "sched"
    assert flux.client.job(waiting).reason
    cluster.launch(2)
    assert flux.wait(waiting).result == "completed"
    assert flux.health() == {0: "full", 1: "full", 2: "full"}


def test_a_broker_with_another_key_stays_out(cluster: Cluster) -> None:
    wrong = cluster.site.root / "wrong.cert"
    assert cluster.site.cli("keygen", str(wrong)).returncode == 0
    cluster.launch(1)
    stranger = cluster.launch(2, conf=cluster.write("wrong.toml", str(wrong)))
    flux = cluster.root("-S", "broker.quorum=2")
    wait_until(lambda: flux.health()[1] == "full")
    # It has the time to try: rank 1 joins, runs a job and answers meanwhile.
    assert flux.wait(flux.sh("true", nnodes=2, ntasks=2)).result == "completed"
    job = flux.sh("true", nnodes=3, ntasks=3)
    assert flux.health() == {0: "partial", 1: "full", 2: "offline"}
    assert flux.client.job(job).state == "sched"
    assert stranger.poll() is None, "it goes on trying, as a pod whose secret comes late must"
    stranger.terminate()
    stranger.wait(15)
    flux.client.cancel(job)


@pytest.mark.parametrize("name", ["random bytes", "half a frame", "a frame of 100 MB", "random text"])
def test_garbage_at_the_tcp_port_harms_nobody(cluster: Cluster, name: str) -> None:
    for rank in (1, 2):
        cluster.launch(rank)
    flux = cluster.root()
    flux.settle()
    address = ("127.0.0.1", cluster.ports[0])
    throw(address, STREAMS[name])
    throw(("127.0.0.1", cluster.ports[1]), STREAMS[name])
    with connected(address) as stream:
        push(stream, STREAMS["half a greeting of zmq"])
        assert flux.wait(flux.sh("true", nnodes=3, ntasks=3)).result == "completed"
    assert flux.health() == {0: "full", 1: "full", 2: "full"}


def test_a_peer_without_the_key_never_joins_over_tcp(cluster: Cluster) -> None:
    public, _ = curve.load(str(cluster.cert))
    endpoint = f"tcp://127.0.0.1:{cluster.ports[0]}"
    cluster.launch(1)
    flux = cluster.root("-S", "broker.quorum=2")
    members = {2: [b"stranger", "node2", 0]}
    words = {"rank": 2, "instance": flux.attr("instance-id"), "version": __version__, "members": members}
    hello = message(kind=8, topic="hello", data=msgpack.packb(words))
    for keys, server in ((None, b""), (zmq.curve_keypair(), b""), (zmq.curve_keypair(), public)):
        with dealer(endpoint, b"stranger", keys, server) as socket:
            socket.send(hello)
            assert not socket.poll(500)
    assert flux.health() == {0: "partial", 1: "full", 2: "offline"}
    with dealer(endpoint, b"stranger", curve.load(str(cluster.cert))) as socket:
        socket.send(hello)
        assert socket.poll(10_000), "with the key it would have been let in"
        socket.send(message(kind=8, topic="goodbye", data=msgpack.packb({})))
        wait_until(lambda: flux.health()[2] == "offline", show=flux.health)
    assert flux.wait(flux.sh("true", nnodes=2, ntasks=2)).result == "completed"


def refused(cluster: Cluster, conf: str, rank: int = 0) -> str:
    done = cluster.site.cli(*cluster.options(rank, conf), "--detach")
    assert done.returncode == 1, done
    assert done.stdout == ""
    return str(done.stderr)


def test_a_key_file_that_is_missing_open_to_others_or_no_key_is_refused(cluster: Cluster) -> None:
    missing = cluster.write("missing.toml", str(cluster.site.root / "nosuch.cert"))
    assert "fluxlike keygen" in refused(cluster, missing)
    cluster.cert.chmod(0o644)
    assert "chmod 600" in refused(cluster, cluster.conf)
    cluster.cert.chmod(0o600)
    cluster.cert.write_text("[curve]\npublic-key = 'short'\nsecret-key = 'short'\n")
    said = refused(cluster, cluster.conf)
    assert "public-key" in said
    assert "short" not in said


def test_a_rank_or_host_that_is_not_in_the_file_is_refused(cluster: Cluster) -> None:
    assert "ranks 0 to 2" in refused(cluster, cluster.conf, rank=3)
    done = cluster.site.cli("start", *cluster.site.options(), "--conf", cluster.conf, "--detach")
    assert done.returncode == 1
    assert "--rank" in done.stderr


def test_a_port_that_is_taken_is_named(cluster: Cluster) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", cluster.ports[0]))
        taken.listen()
        said = refused(cluster, cluster.conf)
    assert str(cluster.ports[0]) in said
