"""Input, output, files, and what a task finds in its environment."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path

import pytest

from fluxlike.ids import encode, encode_f58
from fluxlike.testing.instance import Instance
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system

MEGABYTES = 20


def test_twenty_megabytes_come_through_run_byte_by_byte(flux: Instance) -> None:
    path = flux.site.root / "noise"
    path.write_bytes(os.urandom(MEGABYTES << 20))
    done = flux.cli("run", "cat", str(path), text=False)
    assert done.returncode == 0
    assert len(done.stdout) == MEGABYTES << 20
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(path.read_bytes()).digest()


def test_twenty_megabytes_go_in_by_standard_input_and_come_back(flux: Instance) -> None:
    noise = os.urandom(MEGABYTES << 20)
    done = flux.cli("run", "cat", text=False, input=noise)
    assert done.returncode == 0, done.stderr
    assert done.stdout == noise


def test_much_output_of_many_tasks_is_complete_line_by_line(flux: Instance) -> None:
    done = flux.cli("run", "-N4", "-n8", "-l", "seq", "1", "20000")
    assert done.returncode == 0
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        task, _, text = line.partition(": ")
        found.setdefault(task, []).append(text)
    assert found == {str(task): [str(number) for number in range(1, 20001)] for task in range(8)}


def test_a_slow_reader_slows_the_writer_and_loses_nothing(flux: Instance) -> None:
    reader = flux.popen("run", "sh", "-c", "seq 1 500000; echo end >&2", text=False, bufsize=0)
    assert reader.stdout is not None
    first = reader.stdout.read(7)
    job = flux.client.jobs(limit=1)[0].id
    flux.wait(job)  # the spool takes it all, however slow we are
    rest, errors = reader.communicate(timeout=30)
    assert (first + rest).split() == [b"%d" % number for number in range(1, 500001)]
    assert errors == b"end\n"


def test_standard_input_goes_to_all_tasks_or_to_the_chosen_ones(flux: Instance) -> None:
    done = flux.cli("run", "-n3", "-l", "cat", input="hello\n")
    assert sorted(done.stdout.splitlines()) == ["0: hello", "1: hello", "2: hello"]
    done = flux.cli("run", "-n3", "-l", "--input=1", "sh", "-c", "timeout 1 cat || true", input="hello\n")
    assert "1: hello" in done.stdout
    assert "0: hello" not in done.stdout


def test_standard_input_may_be_a_file(flux: Instance) -> None:
    path = flux.site.root / "in.txt"
    path.write_text("from a file\n")
    job = flux.ok("submit", f"--input={path}", "--wait", "cat").strip()
    assert flux.ok("job", "attach", job) == "from a file\n"


def test_attach_to_a_finished_job_shows_its_output_and_exit_code(flux: Instance) -> None:
    job = flux.sh("echo out; echo err >&2; exit 5")
    flux.wait(job)
    for _ in range(2):
        done = flux.cli("job", "attach", encode_f58(job))
        assert (done.returncode, done.stdout, done.stderr) == (5, "out\n", "err\n")


def test_attach_to_a_running_job_shows_what_was_and_what_comes(flux: Instance) -> None:
    go = flux.site.root / "attach-go"
    job = flux.sh(f"echo before; while [ ! -e {go} ]; do sleep 0.05; done; echo after; exit 6")
    flux.until(job, "start")
    reader = flux.popen("job", "attach", encode_f58(job))
    assert reader.stdout is not None
    assert reader.stdout.readline() == "before\n"
    go.touch()
    rest, _ = reader.communicate(timeout=20)
    assert (rest, reader.returncode) == ("after\n", 6)


def test_two_may_attach_to_one_job(flux: Instance) -> None:
    go = flux.site.root / "both-go"
    job = flux.sh(f"while [ ! -e {go} ]; do sleep 0.05; done; seq 1 1000")
    readers = [flux.popen("job", "attach", "--read-only", encode_f58(job)) for _ in range(2)]
    go.touch()
    shown = [reader.communicate(timeout=20)[0] for reader in readers]
    assert shown == ["".join(f"{number}\n" for number in range(1, 1001))] * 2


def test_a_signal_to_run_is_passed_to_the_job(flux: Instance) -> None:
    run = flux.popen("run", "sh", "-c", "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.05; done")
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGUSR1)
    rest, _ = run.communicate(timeout=20)
    assert (rest, run.returncode) == ("got\n", 3)


def test_ctrl_c_twice_cancels_the_job(flux: Instance) -> None:
    run = flux.popen("run", "sh", "-c", "echo ready; sleep 1000")
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGINT)
    assert "Ctrl-C again" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    assert run.returncode == 128 + signal.SIGTERM
    assert flux.client.jobs(limit=1)[0].result == "canceled"


def test_output_goes_to_files_by_template(flux: Instance) -> None:
    template = f"{flux.site.root}/{{{{name}}}}-{{{{id.dec}}}}-{{{{task.rank}}}}.out"
    text = flux.ok(
        "submit", "-n2", "--job-name=mine", f"--output={template}", "--wait", "sh", "-c", "echo $FLUX_TASK_RANK"
    )
    job = flux.client.jobs(limit=1)[0].id
    assert text.strip() == encode_f58(job)
    for task in (0, 1):
        assert Path(f"{flux.site.root}/mine-{encode(job, 'dec')}-{task}.out").read_text() == f"{task}\n"
    assert flux.output(job) == b""


def test_output_and_error_may_have_files_of_their_own(flux: Instance) -> None:
    root = flux.site.root
    options = (f"--output={root}/{{cc}}.o", f"--error={root}/{{cc}}.e", "--cc=1-3", "--wait", "--quiet")
    flux.ok("submit", *options, "sh", "-c", "echo out {cc}; echo err {cc} >&2")
    for number in (1, 2, 3):
        assert (root / f"{number}.o").read_text() == f"out {number}\n"
        assert (root / f"{number}.e").read_text() == f"err {number}\n"


def test_a_task_finds_its_place_in_its_environment(flux: Instance) -> None:
    script = "env | grep -E '^(FLUX|PMI)'; test -d $FLUX_JOB_TMPDIR && touch $FLUX_JOB_TMPDIR/mine && echo made"
    job = flux.sh(script, nnodes=4, ntasks=8)
    assert flux.wait(job).result == "completed"
    found: dict[int, dict[str, str]] = {}
    for chunk in flux.client.output(job, follow=False):
        lines = chunk.data.decode().splitlines()
        found.setdefault(chunk.task, {}).update(line.partition("=")[::2] for line in lines)
    assert sorted(found) == list(range(8))
    for task, variables in found.items():
        rank = task // 2
        assert os.path.dirname(variables.pop("FLUX_JOB_TMPDIR")) == f"{flux.rundir}/{rank}/tmp"
        assert variables == {
            "FLUX_JOB_ID": encode_f58(job),
            "FLUX_JOB_ID_PATH": f"/{encode_f58(job)}",
            "FLUX_JOB_SIZE": "8",
            "FLUX_JOB_NNODES": "4",
            "FLUX_TASK_RANK": str(task),
            "FLUX_TASK_LOCAL_ID": str(task % 2),
            "FLUXLIKE_URI": f"local://{flux.rundir}/{rank}/local",
            "made": "",
        }
    wait_until(lambda: not any(os.listdir(flux.rundir / str(rank) / "tmp") for rank in range(4)))


def test_run_passes_environment_and_working_directory_on(flux: Instance) -> None:
    done = flux.cli("run", "--env=MINE=1 2", f"--cwd={flux.site.tmp}", "sh", "-c", 'pwd; echo "$MINE"')
    assert done.stdout == f"{flux.site.tmp}\n1 2\n"


def test_a_job_can_use_the_instance_it_runs_in(flux: Instance) -> None:
    done = flux.cli("run", "-N4", "-n4", "fluxlike", "getattr", "rank")
    assert sorted(done.stdout.split()) == ["0", "1", "2", "3"]


def test_jobspec_eventlog_and_r_are_kept(flux: Instance) -> None:
    job = flux.sh("true", nnodes=2, ntasks=2)
    flux.wait(job)
    kept = flux.client.info(job)
    assert kept["jobspec"]["tasks"][0]["command"] == ["/bin/sh", "-c", "true"]
    memos = [row for row in kept["eventlog"] if row[1] == "memo"]
    assert [row[2]["ended"]["status"] for row in memos] == [0]  # of the rank that was through first
    events = [row for row in kept["eventlog"] if row not in memos]
    assert [row[1] for row in events] == [
        "submit", "validate", "depend", "priority", "alloc", "start", "finish", "release", "free", "clean",
    ]  # fmt: skip
    times = [row[0] for row in events]
    assert times == sorted(times)
    assert kept["R"]["version"] == 1
    assert json.loads(flux.ok("job", "info", encode_f58(job), "R")) == kept["R"]


def test_exec_runs_on_every_rank_outside_the_queue(flux: Instance) -> None:
    shown = flux.ok("exec", "-l", "fluxlike", "getattr", "rank")
    assert sorted(shown.splitlines()) == [f"{rank}: {rank}" for rank in range(4)]
    assert flux.cli("exec", "-r", "1-2", "sh", "-c", "exit 9").returncode == 9
