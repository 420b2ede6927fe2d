"""The client's surface over a real instance, where a fake broker would only say what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any

import pytest

from fluxlike.client import Client, Event, FluxlikeExecutor, JobFuture
from fluxlike.client.submission import BATCH_JOBS
from fluxlike.errors import Disconnected
from fluxlike.jobspec.build import from_command
from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

ENV = {"PATH": "/usr/bin:/bin"}


def sh(script: str, **options: Any) -> dict[str, Any]:
    return from_command(["/bin/sh", "-c", script], cwd="/", environment=ENV, **options)


@pytest.fixture
def client(flux: Instance) -> Iterator[Client]:
    with Client(flux.uri) as client:
        yield client


def ended(client: Client, ids: list[int]) -> list[str]:
    """How these ended, in their order."""
    results = {job.id: job.result for job in client.wait_many(ids, timeout=60)}
    return [results[id] for id in ids]


def test_submission_that_is_said_again_runs_once(client: Client) -> None:
    held = client.submit_many([sh("true")] * (BATCH_JOBS + 5), urgency=0, key="again")
    assert client.submit_many([sh("true")] * (BATCH_JOBS + 5), urgency=0, key="again") == held
    assert client.submit(sh("true"), urgency=0, key="other") not in held
    pending = [job.id for job in client.jobs(["pending"], limit=0)]
    assert len(pending) == len(held) + 1
    client.cancel(pending)
    assert set(ended(client, pending)) == {"canceled"}


def test_submission_is_said_again_after_the_instance_was_killed(site: Site) -> None:
    flux = site.start(1, statedir="state")
    specs = [sh("true")] * (BATCH_JOBS + 5)
    before = flux.client.submit_many(specs, key="once", urgency=0)
    flux.kill_broker(0)
    with pytest.raises(Disconnected):
        Client(flux.uri).submit_many(specs, key="once", urgency=0)
    again = site.start(1, statedir="state")
    assert again.client.submit_many(specs, key="once", urgency=0) == before
    assert len(again.client.jobs(limit=0)) == len(before)
    again.client.cancel(before)
    assert set(ended(again.client, before)) == {"canceled"}


def test_jobs_of_one_submission_wait_for_each_other(client: Client) -> None:
    specs = [sh("exit 1"), sh("true"), sh("true"), sh("true")]
    links = {1: [("afterok", 0)], 2: [("afternotok", 0)], 3: [("afterany", 0), ("afterok", 2)]}
    ids = client.submit_many(specs, dependencies=links)
    assert ended(client, ids) == ["failed", "failed", "completed", "completed"]


def test_array_is_one_job_with_tasks(client: Client) -> None:
    id = client.submit_array(sh("exit {cc}"), values=["0", "3", "0"], max_running=1)
    assert client.wait(id, timeout=60).result == "failed"
    assert [(task.index, task.cc, task.returncode) for task in client.tasks(id)] == [
        (0, "0", 0),
        (1, "3", 3),
        (2, "0", 0),
    ]
    assert [task.index for task in client.tasks(id, states=["failed"])] == [1]
    assert [task.index for task in client.tasks(id, first=1, limit=1)] == [1]


def test_journal_tells_of_every_job(client: Client) -> None:
    events = client.journal(["submit", "clean"])
    ids = client.submit_many([sh("true")] * 3)
    seen = [next(events) for _ in range(6)]
    events.close()
    assert sorted((event.id, event.name) for event in seen) == sorted(
        (id, name) for id in ids for name in ("submit", "clean")
    )
    assert {event.number for event in seen if event.name == "submit"} == {0}


def test_long_lists_come_whole_and_limited_ones_do_not(client: Client) -> None:
    ids = client.submit_many([sh("true", name="mine")] * 50)
    ended(client, ids)
    last = max(job.t_inactive for job in client.jobs(ids=ids))
    assert {job.id for job in client.jobs(name="mine", limit=0)} == set(ids)
    assert len(client.jobs(name="mine", limit=7)) == 7
    recent = client.jobs(["inactive"], name="mine", limit=0, since=last)
    assert recent
    assert all(job.t_inactive >= last for job in recent)


def test_time_limit_and_name_of_an_active_job_are_changed(client: Client) -> None:
    id = client.submit(sh("sleep 1000", duration=600.0))
    assert client.update(id, duration="+30")["duration"] == 630.0
    client.update(id, name="renamed")
    assert client.job(id).name == "renamed"
    client.cancel(id)
    client.wait(id, timeout=60)


def test_inactive_jobs_are_purged(site: Site) -> None:
    flux = site.start(1)
    ids = flux.client.submit_many([sh("true")] * 20)
    ended(flux.client, ids)
    assert flux.client.purge(num=5, dry_run=True) == 15
    assert flux.client.purge(ids[:1]) == 1
    assert flux.client.purge(num=5) == 14
    assert len(flux.client.jobs(limit=0)) == 5


def test_events_of_futures_are_told_before_they_are_done(flux: Instance) -> None:
    told: list[tuple[int | None, str, bool]] = []

    def note(future: JobFuture[Any], event: Event) -> None:
        told.append((future.id, event.name, future.done()))

    with FluxlikeExecutor(flux.uri) as executor:
        for name in ("submit", "start", "clean"):
            executor.add_event_callback(name, note)
        futures = [executor.submit_command(["true"]) for _ in range(100)]
        wait(futures, 60)
        expected = [(future.job_id(), name, False) for future in futures for name in ("submit", "start", "clean")]
        assert sorted(told) == sorted(expected)
        late: list[str] = []
        futures[0].add_event_callback("finish", lambda _, event: late.append(event.name))
        wait_until(lambda: late == ["finish"])
