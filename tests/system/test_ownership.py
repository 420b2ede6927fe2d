"""One state directory, one instance; one instance, one user."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgpack
import pytest

from fluxlike.client.blocking import Client
from fluxlike.protocol.framing import frame
from fluxlike.protocol.instance import Shutdown
from fluxlike.testing.garbage import connected, message, push
from fluxlike.testing.instance import Instance, Site

pytestmark = pytest.mark.system

NOBODY = 65534


def as_nobody(act: Callable[[], object]) -> str:
    """What the function returns or raises when another user calls it; in a child, which has his rights only."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = repr(act())
        except BaseException as error:  # noqa: BLE001  the child must not go on as a second pytest
            said = f"{type(error).__name__}: {error}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def send(path: Path, data: bytes) -> bytes:
    """What is answered until the other side hangs up."""
    with connected(str(path)) as stream:
        push(stream, data)
        return b"".join(iter(lambda: stream.recv(65536), b""))


def open_to_all(path: Path) -> None:
    """As if directories were no protection."""
    path.chmod(0o777)
    for folder in path.parents:
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o711)


def test_a_second_start_on_a_living_state_directory_finds_the_instance(site: Site) -> None:
    flux = site.start(2, statedir="state")
    job = flux.sh("sleep 1000")
    flux.until(job, "start")
    brokers = [flux.broker(rank) for rank in range(2)]
    done = site.cli("start", *site.options(2, statedir="state"), "--detach", timeout=8)
    assert (done.returncode, done.stdout.strip()) == (0, flux.uri), done
    done = site.cli("start", *site.options(2, statedir="state"), "--", "fluxlike", "getattr", "broker.pid", timeout=8)
    assert (done.returncode, done.stdout.strip()) == (0, str(brokers[0])), done
    assert [flux.broker(rank) for rank in range(2)] == brokers
    assert flux.client.job(job).state == "run"
    flux.client.cancel(job)
    flux.wait(job)


def test_a_state_directory_keeps_its_size(site: Site) -> None:
    flux = site.start(2, statedir="state")
    done = site.cli("start", *site.options(3, statedir="state"), "--detach")
    assert done.returncode == 1
    assert "2 brokers" in done.stderr
    done = site.cli("start", *site.options(statedir="state"), "--rank", "7", "--detach")
    assert done.returncode == 1
    assert "ranks are 0 to 1" in done.stderr
    assert flux.wait(flux.sh("true", nnodes=2, ntasks=2)).result == "completed"


def test_a_state_directory_of_another_user_is_refused(site: Site) -> None:
    path = site.root / "theirs"
    path.mkdir()
    os.chown(path, NOBODY, NOBODY)
    done = site.cli("start", *site.options(1, statedir="theirs"), "--detach")
    assert done.returncode == 1
    assert "theirs" in done.stderr


def test_everything_of_an_instance_is_private(site: Site) -> None:
    flux = site.start(2, statedir="state")
    assert flux.wait(flux.sh("echo secret")).result == "completed"
    assert not (site.root / "state").stat().st_mode & 0o077
    sockets = ("run/0", "run/0/local", "run/0/executor.sock")
    names = ("curve.cert", "jobs.sqlite", "jobs.sqlite-wal", "broker-0.log", *sockets)
    secrets = [site.root / "state" / name for name in names]
    secrets += [path for path in (site.root / "state" / "spool").rglob("*") if path.is_file()]
    assert len(secrets) == len(names) + 1
    assert [path for path in secrets if path.stat().st_mode & 0o077] == []


def test_another_user_cannot_even_reach_the_sockets(flux: Instance) -> None:
    assert "belongs to another user" in as_nobody(lambda: Client(flux.uri))
    for name in ("local", "tree", "executor.sock"):
        assert as_nobody(partial(send, flux.rundir / "0" / name, b"")).startswith("PermissionError")


def test_another_user_is_refused_by_the_client_socket_itself(site: Site) -> None:
    flux = site.start(1)
    path = flux.rundir / "0" / "local"
    open_to_all(path)
    said = as_nobody(lambda: send(path, frame(message(topic="job.list"))))
    assert "does not own this instance" in said or "ConnectionReset" in said
    assert "jobs" not in said
    as_nobody(lambda: send(path, frame(message(topic=Shutdown.topic))))
    assert flux.wait(flux.sh("true")).result == "completed"
    assert "uid 0" in as_nobody(lambda: Client(flux.uri)), "nor does a client trust a stranger's instance"


def test_another_user_is_refused_by_the_executor_socket_itself(site: Site) -> None:
    flux = site.start(1)
    path = flux.rundir / "0" / "executor.sock"
    open_to_all(path)
    executor = flux.executor()
    said = as_nobody(lambda: send(path, frame(msgpack.packb(["exit"]))))
    assert said == "b''" or "ConnectionReset" in said, said
    assert flux.wait(flux.sh("true")).result == "completed"
    assert flux.executor() == executor
