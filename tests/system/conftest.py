"""Instances for system tests. A test that leaves a process, a file or a descriptor behind fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.processes import adopt_orphans
from fluxlike.testing.waiting import wait_until

LOGS = pytest.StashKey[str]()


@pytest.fixture(scope="session", autouse=True)
def _in_sight() -> Iterator[None]:
    """Orphans of what tests kill come to us, not to init, where nobody would find them."""
    adopt_orphans(True)
    yield
    adopt_orphans(False)


@pytest.fixture
def site() -> Iterator[Site]:
    """A place to start instances in: `site.start(4)`."""
    place = Site()
    yield place
    faults = place.close()
    assert not faults, faults


@pytest.fixture(scope="module")
def crew() -> Iterator[Instance]:
    """Four brokers shared by the tests of a module, which take it as `flux`."""
    place = Site()
    yield place.start(4)
    faults = place.close()
    assert not faults, faults


@pytest.fixture
def flux(crew: Instance) -> Iterator[Instance]:
    """The shared instance. A test must leave it as it was: no active job, no task, no descriptor."""
    before = crew.site.processes()
    yield crew
    left = [record.id for record in crew.client.jobs(states=["active"])]
    crew.client.cancel(left)
    for _ in crew.client.wait_many(left, timeout=20):
        pass
    assert not left, f"jobs are left: {left}"
    wait_until(lambda: crew.site.processes() <= before, 5, lambda: crew.site.processes() - before)
    faults = crew.faults()
    assert not faults, faults


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            place = value.site if isinstance(value, Instance) else value
            if isinstance(place, Site):
                report.sections.append(("logs of the brokers", place.logs()))
    return report
