"""The harness itself: every kind of leak is found, or the other tests prove little."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from fluxlike.testing.garbage import connected
from fluxlike.testing.instance import Site
from fluxlike.testing.processes import alive
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system


@pytest.fixture
def leaky() -> Iterator[Site]:
    """A site that the test closes itself."""
    place = Site()
    place.patience = 0.5
    yield place
    place.close()


def test_a_process_is_found_even_if_it_left_its_session_and_environment(leaky: Site) -> None:
    shell = subprocess.run(
        ["env", "-i", "sh", "-c", "setsid sleep 99 >/dev/null & echo $!"],
        stdout=subprocess.PIPE, text=True, timeout=10, check=True,
    )  # fmt: skip
    pid = int(shell.stdout)
    assert any("sleep 99" in fault for fault in leaky.close())
    wait_until(lambda: not alive(pid))


def test_a_file_in_the_temporary_directory_is_found(leaky: Site) -> None:
    (leaky.tmp / "fluxlike-forgotten").mkdir()
    assert any("forgotten" in fault for fault in leaky.close())


def test_a_file_in_the_state_directory_is_found(leaky: Site) -> None:
    flux = leaky.start(1, statedir="state")
    assert flux.wait(flux.sh("true")).result == "completed"
    (leaky.root / "state" / "forgotten").touch()
    assert any("forgotten" in fault for fault in leaky.close())


def test_a_descriptor_is_found(leaky: Site) -> None:
    flux = leaky.start(1)
    broker = flux.broker()
    with connected(str(flux.rundir / "0" / "local")):
        assert any(f"{broker} holds" in fault and "socket" in fault for fault in flux.faults())
    assert flux.faults() == []


def test_a_defect_in_the_log_is_found(leaky: Site) -> None:
    flux = leaky.start(1)
    with open(flux.rundir / "0" / "broker.log", "a") as log:
        log.write("Traceback (most recent call last):\n")
    assert any("Traceback" in fault for fault in leaky.close())


def test_what_is_waited_for_in_vain_is_shown() -> None:
    with pytest.raises(AssertionError, match="last value: 0; state: nothing came"):
        wait_until(lambda: 0, timeout=0.05, show=lambda: "nothing came")
