from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from fluxlike.errors import BY_CODE, FluxlikeError, StoreUnavailable
from fluxlike.protocol.jobs import JobList, JobListed, Submit
from fluxlike.testing.fake_broker import FakeBroker, HangUp
from fluxlike.testing.records import job_record
from fluxlike_cli.errors import EXIT_CODES, exit_code
from fluxlike_cli.main import COMMANDS, run
from tests.unit.cli.conftest import PROGRAM, Command

Process = Callable[..., "subprocess.Popen[bytes]"]


def test_every_error_of_ours_ends_with_status_one() -> None:
    assert {exit_code(kind("text")) for kind in BY_CODE.values()} == {1}


def test_the_table_of_exit_codes_has_usage_errors_before_others() -> None:
    assert [code for _, code in EXIT_CODES] == [2, 1, 1, 130, 130, 1]


def test_an_unknown_command_names_the_nearest(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["sumbit", "true"]) == 2
    assert "Did you mean 'submit'?" in capfd.readouterr().err


def test_an_unknown_option_names_the_nearest(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["submit", "--ntask=2", "true"]) == 2
    assert "--ntasks" in capfd.readouterr().err


def test_long_options_are_not_abbreviated(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["submit", "--dry", "true"]) == 2
    assert "--dry-run" in capfd.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_has_help_with_examples(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert "Example" in capfd.readouterr().out


def test_help_lists_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capfd.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)


def test_without_an_instance_a_command_says_how_to_start_one(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLUXLIKE_URI", raising=False)
    assert run(["jobs"]) == 1
    assert "fluxlike start" in capfd.readouterr().err


def test_an_error_of_the_instance_is_one_line(broker: FakeBroker, fluxlike: Command) -> None:
    def refuse(request: Submit) -> FluxlikeError:
        raise StoreUnavailable("the disk is full")

    broker.on(Submit, refuse)
    result = fluxlike("submit", "true")
    assert (result.code, result.out, result.err) == (1, "", "fluxlike: the disk is full\n")


def test_a_lost_connection_is_one_line(broker: FakeBroker, fluxlike: Command) -> None:
    def vanish(request: Submit) -> None:
        raise HangUp

    broker.on(Submit, vanish)
    result = fluxlike("submit", "true")
    assert result.code == 1
    assert result.err.startswith("fluxlike: ")
    assert result.err.count("\n") == 1


def test_a_reader_that_is_gone_ends_a_listing_in_silence(broker: FakeBroker, process: Process) -> None:
    rows = [job_record(number) for number in range(1, 5000)]
    broker.on(JobList, lambda request: JobListed(jobs=rows))
    child = process("jobs", "-a")
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    _, err = child.communicate()
    assert (child.returncode, err) == (1, b"")


def test_a_closed_standard_output_is_no_error(broker: FakeBroker, process: Process) -> None:
    broker.on(JobList, lambda request: JobListed(jobs=[job_record(1)]))
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, "--uri", broker.uri, "jobs"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_interpreter_s_own_output_is_flushed_before_the_quick_exit(process: Process) -> None:
    out, _ = process("version").communicate()
    assert out.startswith(b"fluxlike")
