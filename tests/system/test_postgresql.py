"""Jobs in PostgreSQL: what a state directory promises, with the database elsewhere; and what only a server can do."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from fluxlike.ids import encode_f58
from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.postgresql import PostgresqlServer
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

PATIENT = {"exec.lost-grace": 20, "exec.orphan-timeout": 60}
"""Tasks and jobs outlive a root that is away for a while."""


@pytest.fixture
def url(postgresql: PostgresqlServer) -> str:
    return postgresql.url(postgresql.new_schema())


def start(site: Site, url: str) -> Instance:
    return site.start(1, "--store", url, statedir="state", sets=PATIENT)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_killed_root_goes_on_with_the_jobs_of_the_database(site: Site, url: str) -> None:
    flux = start(site, url)
    path, gate = site.root / "ran", site.root / "go"
    record = f"echo $FLUX_JOB_ID >> {path}"
    done = [flux.sh(record) for _ in range(5)]
    for _ in flux.client.wait_many(done, timeout=20):
        pass
    blocker = flux.sh(f"{record}; while [ ! -e {gate} ]; do sleep 0.05; done", ntasks=1, cores_per_task=4)
    flux.until(blocker, "start")
    wait_until(lambda: len(lines(path)) == 6)
    pending = [flux.sh(record) for _ in range(20)]

    flux.kill_broker(0)
    flux = start(site, url)
    assert {record.id for record in flux.client.jobs(limit=0)} == {*done, blocker, *pending}
    gate.touch()
    ends = list(flux.client.wait_many([blocker, *pending], timeout=30))
    assert {record.result for record in ends} == {"completed"}
    assert sorted(lines(path)) == sorted(encode_f58(job) for job in (*done, blocker, *pending))
    assert not (site.root / "state" / "jobs.sqlite").exists()


def test_lost_server_refuses_submits_with_the_reason_and_is_found_again(
    site: Site, url: str, postgresql: PostgresqlServer
) -> None:
    flux = start(site, url)
    gate = site.root / "go"
    running = flux.sh(f"while [ ! -e {gate} ]; do sleep 0.05; done")
    flux.until(running, "start")
    postgresql.stop(signal.SIGQUIT)
    try:
        refused = flux.cli("submit", "true")
        assert refused.returncode != 0
        assert str(postgresql.folder) in refused.stderr
        assert "connection" in refused.stderr
        assert "the store cannot commit" in flux.ok("uptime")
        gate.touch()
    finally:
        postgresql.start()
    assert flux.wait(running).result == "completed"
    wait_until(lambda: "the store cannot commit" not in flux.ok("uptime"))
    assert flux.wait(flux.submit("true")).result == "completed"
    assert len(flux.client.jobs(limit=0)) == 2


def test_second_instance_is_told_who_has_the_store(site: Site, url: str) -> None:
    flux = start(site, url)
    broker = flux.broker()
    other = site.cli("start", *site.options(1, statedir="other"), "--store", url, "--", "true")
    assert other.returncode == 1
    assert f"cannot open the store: postgresql://owner@{url.partition('host=')[2].partition('&')[0]}" in other.stderr
    assert f"the store is in use by fluxlike process {broker} on " in other.stderr


def test_password_is_shown_to_nobody(site: Site, url: str) -> None:
    with_secret = url.replace("owner@", "owner:hunter2hunter2@")
    flux = start(site, with_secret)
    flux.wait(flux.submit("true"))
    shown = [flux.ok(command) for command in ("uptime", "lsattr", "dmesg")]
    site.cli("shutdown", uri=flux.uri)
    kept = [path for path in (site.root / "state").rglob("*") if path.is_file()]
    assert kept
    for text in (*shown, *(path.read_bytes().decode(errors="replace") for path in kept)):
        assert "hunter2" not in text


def test_start_without_the_store_is_told_where_the_jobs_are(site: Site, url: str) -> None:
    flux = start(site, url)
    flux.cli("shutdown")
    flux.stop()
    done = site.cli("start", *site.options(1, statedir="state"), "--", "true")
    assert done.returncode == 1
    assert "start it with --store 'postgresql+psycopg://owner@/" in done.stderr


def test_server_that_is_not_there_is_named_at_the_start(site: Site) -> None:
    url = "postgresql+psycopg://owner:hunter2hunter2@/db?host=/nonexistent"
    done = site.cli("start", *site.options(1, statedir="state"), "--store", url, "--", "true")
    assert done.returncode == 1
    assert "cannot open the store: postgresql://owner@/nonexistent/db: " in done.stderr
    assert "hunter2" not in done.stderr
