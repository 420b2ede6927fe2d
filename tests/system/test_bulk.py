"""Many jobs in one message."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from fluxlike.ids import decode
from fluxlike.testing.instance import Instance

pytestmark = pytest.mark.system


def test_five_hundred_jobs_complete_and_each_is_listed_once(flux: Instance) -> None:
    ids = flux.ok("submit", "--cc=1-500", "--wait", "true", timeout=60).split()
    assert len(set(ids)) == 500
    listed = json.loads(flux.ok("jobs", "-a", "--json", "-c", "0"))["jobs"]
    mine = [job for job in listed if job["id"] in set(ids)]
    assert Counter(job["id"] for job in mine) == Counter(ids)
    assert Counter(job["result"] for job in mine) == {"completed": 500}
    assert sorted(int(job["cc"]) for job in mine) == list(range(1, 501))
    assert {job["returncode"] for job in mine} == {0}


def test_each_of_many_jobs_runs_once_with_its_own_number(flux: Instance) -> None:
    path = flux.site.root / "ran"
    script = f"echo {{cc}} $FLUX_JOB_CC >> {path}"
    flux.ok("submit", "--cc=1-200", "--wait", "--quiet", "sh", "-c", script, timeout=60)
    lines = sorted(path.read_text().splitlines(), key=lambda line: int(line.split()[0]))
    assert lines == [f"{number} {number}" for number in range(1, 201)]


def test_bcc_fills_the_number_in_but_does_not_tell_it(flux: Instance) -> None:
    script = "echo {cc}-${FLUX_JOB_CC-none}"
    shown = flux.ok("submit", "--bcc=1-3", "--watch", "--quiet", "sh", "-c", script)
    assert sorted(line.split()[-1] for line in shown.splitlines()) == ["1-none", "2-none", "3-none"]


def test_submit_waits_with_the_highest_exit_code(flux: Instance) -> None:
    done = flux.cli("submit", "--cc=0-3", "--wait", "--quiet", "sh", "-c", "exit {cc}")
    assert done.returncode == 3, done


def test_ids_grow_in_the_order_of_submission(flux: Instance) -> None:
    shown = [flux.ok("submit", "--cc=1-20", "true").split() for _ in range(2)]
    ids = [decode(text) for text in shown[0] + shown[1]]
    assert ids == sorted(set(ids))
    for _ in flux.client.wait_many(ids, timeout=30):
        pass
