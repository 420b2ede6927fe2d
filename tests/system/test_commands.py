"""The commands as people type them, against real brokers."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from fluxlike.clock import SystemClock
from fluxlike.ids import decode
from fluxlike.testing.instance import Instance
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system


def test_inputs_become_jobs_and_their_output_comes_back(flux: Instance, tmp_path: Path) -> None:
    out = flux.ok("bulksubmit", "--quiet", "--watch", f"--output={tmp_path}/{{}}.txt", "echo", "{}", ":::", "a", "b")
    assert out == ""
    assert [(tmp_path / f"{name}.txt").read_text() for name in "ab"] == ["a\n", "b\n"]
    run = flux.cli(
        "bulksubmit", "--watch", "--quiet", "-n{}", "sh", "-c", "echo {1}; exit {}", ":::", "1", "2", ":::+", "x", "y"
    )
    assert run.returncode == 2
    assert sorted(line.partition(": ")[2] for line in run.stdout.splitlines()) == ["x", "y", "y"]


def test_thousands_of_lines_are_thousands_of_jobs(flux: Instance) -> None:
    lines = "".join(f"{number}\n" for number in range(5000))
    flux.ok("bulksubmit", "--quiet", "--urgency=hold", "--job-name=many", "true", "{}", input=lines)
    names = flux.ok("jobs", "-c0", "-n", "-o", "{cc}").split()
    assert sorted(map(int, names)) == list(range(5000))
    assert flux.ok("pkill", "-w", "^many$").strip() == "Canceled 5000 jobs"


def test_tasks_of_an_array_are_listed_followed_and_submitted_again(flux: Instance) -> None:
    run = flux.cli("submit", "--array=4", "--watch", "sh", "-c", "echo task {cc}; exit $(({cc} % 2))")
    name = run.stdout.split()[0]
    assert run.returncode == 1
    assert sorted(run.stdout.splitlines()[1:]) == [f"{name}.{index}: task {index}" for index in range(4)]
    assert flux.ok("jobs", "--tasks", name, "-n", "-f", "failed", "-o", "{index}").split() == ["1", "3"]
    assert flux.ok("jobs", "-n", "-o", "{contextual_info}", name) == "2 completed, 2 failed\n"
    assert flux.cli("job", "attach", f"{name}.3").stdout == "task 3\n"
    again = flux.ok("job", "resubmit", "--failed", name).strip()
    assert flux.cli("job", "wait", again).returncode == 1
    assert flux.ok("jobs", "--tasks", again, "-n", "-o", "{cc}").split() == ["1", "3"]


def test_a_task_of_an_array_is_cancelled_alone(flux: Instance) -> None:
    name = flux.ok("submit", "--array=3", "--max-running=1", "sleep", "1000").strip()
    flux.until(decode(name), "task-start")
    flux.ok("cancel", f"{name}.0", f"{name}.2")
    wait_until(lambda: flux.ok("jobs", "--tasks", name, "-n", "-f", "inactive", "-o", "{index}").split() == ["0", "2"])
    flux.ok("cancel", name)
    assert flux.cli("job", "wait", name).returncode == 1


def test_a_running_job_gets_more_time(flux: Instance) -> None:
    name = flux.ok("submit", "-t", "10m", "sleep", "1000").strip()
    flux.until(decode(name), "start")
    assert flux.ok("update", name, "duration=+1h") == "duration=1.16667h\n"
    assert 4000 < int(flux.ok("job", "timeleft", name)) <= 4200
    r = json.loads(flux.ok("job", "info", name, "R"))
    assert r["execution"]["expiration"] - r["execution"]["starttime"] == pytest.approx(4200.0)
    flux.ok("cancel", name)
    flux.wait(decode(name))


def test_a_shortened_limit_ends_the_job(flux: Instance) -> None:
    name = flux.ok("submit", "-t", "10m", "sleep", "1000").strip()
    flux.until(decode(name), "start")
    ran = SystemClock().now() - flux.client.job(decode(name)).t_run
    flux.client.update(decode(name), duration=ran + 0.5)
    assert flux.wait(decode(name)).result == "timeout"


def test_a_closed_queue_empties(flux: Instance) -> None:
    flux.ok("submit", "--cc=1-20", "sleep", "0.05")
    flux.ok("queue", "disable", "-m", "moving house")
    refused = flux.cli("submit", "true")
    assert (refused.returncode, "moving house" in refused.stderr) == (1, True)
    assert "0 pending, 0 running" in flux.ok("queue", "drain", "-t", "30s")
    flux.ok("queue", "enable")
    flux.ok("submit", "--wait", "true")


def test_a_progress_bar_is_shown_on_a_terminal_only(flux: Instance) -> None:
    words = ["submit", "--cc=1-5", "--quiet", "--progress", "--jps", "--wait", "true"]
    assert flux.cli(*words).stderr == ""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        child = flux.popen(*words, stderr=theirs)
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while data := terminal.read(4096):
                shown += data
        child.communicate(timeout=30)
    assert child.returncode == 0
    assert re.search(rb"ended \[#{30}\] 100% 5/5 [0-9.]+ jobs/s", shown)
