"""A full disk under the state directory: submits are refused, jobs go on, and room heals everything."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxlike.errors import StoreUnavailable
from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

SIZE = "4m"


@pytest.fixture
def disk(site: Site) -> Iterator[Path]:
    """A small disk of its own; the state directory is on it."""
    path = site.root / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(path)], check=True, timeout=10)
    yield path
    for instance in site.instances:
        instance.stop()
    wait_until(lambda: not site.processes(), show=site.processes)
    subprocess.run(["umount", str(path)], check=True, timeout=10)


def fill(disk: Path) -> Path:
    """Leaves not a byte."""
    path = disk / "fill"
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


def start(site: Site) -> Instance:
    return site.start(2, statedir="disk/state")


def test_a_full_disk_refuses_submits_and_harms_no_running_job(site: Site, disk: Path) -> None:
    flux = start(site)
    running = flux.sh(f"while [ ! -e {site.root}/go ]; do sleep 0.05; done; seq 1 10000; exit 3")
    flux.until(running, "start")
    filler = fill(disk)
    _, refusal = until_refused(flux)
    assert "full" in refusal
    known = {record.id for record in flux.client.jobs(limit=0)}
    done = flux.cli("submit", "true")
    assert done.returncode == 1
    assert "full" in done.stderr
    assert "cannot commit" in flux.ok("uptime")
    assert flux.client.job(running).state == "run"
    (site.root / "go").touch()
    assert {record.id for record in flux.client.jobs(limit=0)} == known, "what was refused is not there"

    filler.unlink()
    job = wait_until(lambda: _accepted(flux), show=lambda: flux.ok("uptime"))
    assert flux.wait(job).result == "completed"
    assert flux.wait(running).returncode == 3
    assert flux.output(running) == "".join(f"{number}\n" for number in range(1, 10001)).encode()
    assert "cannot commit" not in flux.ok("uptime")
    for record in flux.client.wait_many(known, timeout=30):
        assert record.id == running or record.result == "completed"


def until_refused(flux: Instance, urgency: int = 16) -> tuple[list[int], str]:
    """Submit until the disk is felt, since a page of the log may still have room for a few; ids, and the refusal."""
    jobs: list[int] = []
    while True:
        try:
            jobs.append(flux.sh("true", urgency=urgency))
        except StoreUnavailable as error:
            return jobs, str(error)


def _accepted(flux: Instance) -> int:
    try:
        return flux.sh("true")
    except StoreUnavailable:
        return 0


def test_output_of_a_running_job_waits_for_room(site: Site, disk: Path) -> None:
    flux = start(site)
    job = flux.sh(f"while [ ! -e {site.root}/go ]; do sleep 0.05; done; seq 1 100000; echo end > {site.root}/wrote")
    flux.until(job, "start")
    filler = fill(disk)
    (site.root / "go").touch()
    # More than the window of what is not acknowledged: the writer blocks, as on any full disk.
    wait_until(lambda: "cannot spool" in flux.ok("dmesg"))
    assert not (site.root / "wrote").exists()
    filler.unlink()
    assert flux.wait(job).result == "completed"
    assert flux.output(job) == "".join(f"{number}\n" for number in range(1, 100001)).encode()


def test_what_was_acknowledged_before_the_disk_was_full_survives_a_kill(site: Site, disk: Path) -> None:
    flux = start(site)
    jobs = [flux.sh("true", urgency=0) for _ in range(20)]
    filler = fill(disk)
    jobs += until_refused(flux, urgency=0)[0]
    flux.kill_broker(0)
    filler.unlink()
    flux = start(site)
    assert {record.id for record in flux.client.jobs(limit=0)} == set(jobs)
    for job in jobs:
        flux.client.urgency(job, 16)
    assert {record.result for record in flux.client.wait_many(jobs, timeout=30)} == {"completed"}
