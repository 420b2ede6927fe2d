"""An instance whose executors run nothing: all but the running of jobs, to be measured."""

from __future__ import annotations

import pytest

from fluxlike.testing.instance import Site
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system


def test_jobs_of_an_instance_in_null_mode_are_completed_without_being_run(site: Site) -> None:
    flux = site.start(2, sets={"exec.mode": "null"})
    mark = site.root / "ran"
    for _ in range(20):
        flux.sh(f"touch {mark}; exit 1", nnodes=2, ntasks=2)
    last = flux.sh(f"touch {mark}; exit 1")
    assert flux.wait(last).result == "completed"
    old = flux.executor(0)
    flux.kill(old)
    wait_until(lambda: flux.executor(0) != old)
    assert flux.wait(flux.sh(f"touch {mark}; exit 1")).result == "completed"
    assert not mark.exists()
