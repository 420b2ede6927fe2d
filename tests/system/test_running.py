"""Starting an instance, running a program in it, and what its end tells."""

from __future__ import annotations

import pytest

from fluxlike.testing.instance import Instance, Site

pytestmark = pytest.mark.system


def test_eight_tasks_on_four_nodes_label_their_lines(site: Site) -> None:
    done = site.cli("start", *site.options(4), "--", "fluxlike", "run", "-N4", "-n8", "-l", "hostname")
    assert done.returncode == 0, done
    lines = sorted(done.stdout.splitlines())
    assert [line.partition(": ")[0] for line in lines] == [str(task) for task in range(8)]
    assert len({line.partition(": ")[2] for line in lines}) == 1
    assert done.stderr == ""


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)])
def test_start_ends_with_the_status_of_its_program(site: Site, script: str, status: int) -> None:
    assert site.cli("start", *site.options(), "--", "sh", "-c", script).returncode == status


def test_start_ends_with_the_status_of_a_job_in_its_program(site: Site) -> None:
    done = site.cli("start", *site.options(2), "--", "sh", "-c", "fluxlike run sh -c 'exit 5'")
    assert done.returncode == 5, done


def test_a_program_that_does_not_exist_is_named_and_gives_127(site: Site) -> None:
    done = site.cli("start", *site.options(), "--", "nosuchprogram")
    assert done.returncode == 127
    assert "nosuchprogram" in done.stderr


def test_the_program_of_an_instance_in_a_job_does_not_pass_for_a_task_of_that_job(site: Site) -> None:
    inner = "fluxlike start -- sh -c 'echo \"[$FLUX_JOB_ID$FLUX_TASK_RANK]\"'"
    assert site.cli("start", *site.options(), "--", "fluxlike", "run", "sh", "-c", inner).stdout == "[]\n"


def test_the_program_has_the_standard_streams_of_start(site: Site) -> None:
    done = site.cli("start", *site.options(), "--", "sh", "-c", "cat; echo err >&2", input="hello\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "err\n")


def test_start_without_a_program_or_a_terminal_says_what_to_do(site: Site) -> None:
    done = site.cli("start", *site.options())
    assert done.returncode == 1
    assert "--detach" in done.stderr


def test_run_gives_the_exit_code_of_the_job(flux: Instance) -> None:
    assert flux.cli("run", "true").returncode == 0
    assert flux.cli("run", "false").returncode == 1
    assert flux.cli("run", "sh", "-c", "exit 42").returncode == 42


@pytest.mark.parametrize("signum", [2, 9, 11, 15])
def test_run_gives_128_and_the_signal_that_killed_a_task(flux: Instance, signum: int) -> None:
    assert flux.cli("run", "sh", "-c", f"kill -{signum} $$").returncode == 128 + signum


def test_the_worst_task_decides_the_exit_code(flux: Instance) -> None:
    done = flux.cli("run", "-N4", "-n4", "sh", "-c", "exit $FLUX_TASK_RANK")
    assert done.returncode == 3, done


def test_run_of_a_program_that_does_not_exist_gives_127_and_says_so(flux: Instance) -> None:
    done = flux.cli("run", "nosuchprogram")
    assert done.returncode == 127, done
    assert "nosuchprogram" in done.stderr
    assert done.stdout == ""


def test_run_of_a_file_that_is_no_program_gives_126_and_says_so(flux: Instance) -> None:
    done = flux.cli("run", "/etc/passwd")
    assert done.returncode == 126, done
    assert "/etc/passwd" in done.stderr


def test_standard_error_and_output_stay_apart(flux: Instance) -> None:
    done = flux.cli("run", "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
