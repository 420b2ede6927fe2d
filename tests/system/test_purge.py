"""Jobs that ended: forgotten when told to, and known without being in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluxlike.errors import InvalidRequest, NotFound
from fluxlike.ids import encode_f58
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.jobs import JobStats, JobStatsReply
from fluxlike.testing.instance import Instance, Site
from fluxlike_broker.modules.job_manager.board import RECENT
from fluxlike_broker.modules.output.service import FEW

pytestmark = pytest.mark.system

NULL = {"exec.mode": "null", "resource.cores": 64}


def start(site: Site, **sets: object) -> Instance:
    return site.start(1, statedir="state", sets=sets)


def again(flux: Instance) -> Instance:
    flux.kill_broker(0)
    return start(flux.site)


def spooled(flux: Instance) -> set[int]:
    """Jobs whose output lies in the spool."""
    assert flux.statedir is not None
    return {int(path.name) for path in Path(flux.statedir, "spool").glob("*/*")}


def said(flux: Instance, *, status: int = 0, count: int = 1) -> list[int]:
    """Jobs that wrote something and ended."""
    jobs = [flux.sh(f"echo something; exit {status}") for _ in range(count)]
    for _ in flux.client.wait_many(jobs, timeout=30):
        pass
    return jobs


def stats(flux: Instance) -> tuple[int, int, int]:
    """Inactive, completed, failed."""
    found = flux.client.call(JobStats(), JobStatsReply)
    return found.inactive, found.completed, found.failed


def test_purged_jobs_are_gone_with_their_output_and_stay_gone(site: Site) -> None:
    flux = start(site)
    kept, (gone, failed) = said(flux, count=2), said(flux, count=1) + said(flux, status=3)
    assert spooled(flux) == {*kept, gone, failed}
    assert flux.client.purge([gone, failed], dry_run=True) == 2
    assert stats(flux) == (4, 3, 1)
    assert flux.client.purge([gone, failed]) == 2
    for life in range(2):
        assert stats(flux) == (2, 2, 0)
        assert spooled(flux) == set(kept)
        assert {record.id for record in flux.client.jobs(limit=0)} == set(kept)
        with pytest.raises(NotFound):
            flux.client.job(gone)
        with pytest.raises(NotFound):
            flux.output(gone)
        with pytest.raises(NotFound):
            flux.client.purge([gone])
        flux = again(flux) if not life else flux


def test_active_jobs_are_refused_and_nothing_is_purged_with_them(site: Site) -> None:
    flux = start(site)
    (done,) = said(flux)
    running = flux.sh("sleep 100")
    flux.until(running, "start")
    held = flux.sh("true", urgency=0)
    for active in (running, held):
        with pytest.raises(InvalidRequest, match="is active: cancel it first"):
            flux.client.purge([done, active])
    assert flux.output(done) == b"something\n"
    assert flux.client.purge(num=0) == 1
    assert {record.id for record in flux.client.jobs(limit=0)} == {running, held}
    flux.client.cancel([running, held])


def test_newest_are_kept_and_old_ones_go(site: Site) -> None:
    flux = start(site)
    jobs = [job for _ in range(6) for job in said(flux)]
    assert flux.client.purge(num=4) == 2
    assert [record.id for record in flux.client.jobs(limit=0)] == jobs[:1:-1]
    assert flux.client.purge(age=3600) == 0
    assert flux.client.purge(age=0, num=1) == 4
    assert spooled(flux) == set()
    assert stats(flux) == (0, 0, 0)


def test_output_of_tasks_goes_with_their_array(site: Site) -> None:
    flux = start(site)
    spec = from_command(["/bin/echo", "something"], cwd="/")
    kept = flux.client.submit_array(spec, 3)
    small = flux.client.submit_array(spec, 5)
    silent = from_command(["/bin/sh", "-c", "[ $FLUXLIKE_ARRAY_INDEX -gt 9 ] || echo a"], cwd="/")
    large = flux.client.submit_array(silent, FEW + 50)
    between = said(flux)
    for array in (kept, small, large):
        assert flux.wait(array, timeout=60).result == "completed"
    assert len(spooled(flux)) == 3 + 5 + 10 + 1
    assert flux.client.purge([small, large]) == 2
    assert spooled(flux) == {*between, *(task.record["id"] for task in flux.client.tasks(kept))}
    assert stats(flux) == (4, 4, 0)
    assert stats(again(flux)) == (4, 4, 0)


def test_key_of_purged_jobs_is_free_again(site: Site) -> None:
    flux = start(site)
    spec = from_command(["true"], cwd="/")
    first = flux.client.submit(spec, key="daily")
    flux.wait(first)
    assert flux.client.submit(spec, key="daily") == first
    flux.client.purge([first])
    second = flux.client.submit(spec, key="daily")
    assert second != first
    assert flux.wait(second).result == "completed"


def test_jobs_that_left_the_memory_are_listed_waited_for_and_depended_on(site: Site) -> None:
    flux = start(site, **NULL)
    spec = from_command(["true"], cwd="/", environment={})
    first = flux.client.submit(spec)
    jobs = flux.client.submit_template(spec, [str(number) for number in range(RECENT + 500)])
    for _ in flux.client.wait_many(jobs, timeout=60):
        pass
    assert flux.wait(first).result == "completed"
    assert flux.client.job(first).id == first
    listed = [record.id for record in flux.client.jobs(states=["inactive"], limit=0)]
    assert len(listed) == len(set(listed)) == len(jobs) + 1
    assert set(listed) == {first, *jobs}
    assert flux.events(first)[-1] == "clean"
    assert flux.output(first) == b""
    after = flux.submit("true", dependencies=[{"scheme": "afterok", "value": encode_f58(first)}])
    assert flux.wait(after).result == "completed"
    assert flux.client.purge(num=10) == len(jobs) + 2 - 10
    assert stats(flux) == (10, 10, 0)
    assert len(flux.client.jobs(limit=0)) == 10
