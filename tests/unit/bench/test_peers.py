from __future__ import annotations

import os
import shutil

import pytest
from peers.daemons import free_ports
from peers.hq_driver import settled
from peers.packages import last_line, need
from peers.peer import Unavailable
from peers.slurm_conf import slurm_conf


def test_a_rate_is_taken_at_the_last_report_before_the_end() -> None:
    assert settled([(0.0, 0), (1.0, 400), (2.0, 900), (3.0, 1000)], 1000, 3.0) == 450.0


def test_a_run_that_ended_before_its_first_report_counts_with_its_whole_time() -> None:
    assert settled([(0.0, 0), (1.0, 200)], 200, 1.0) == 200.0


def test_slurm_writes_only_into_its_own_directory_and_talks_to_itself() -> None:
    lines = slurm_conf("/scratch/sl", "here", (40001, 40002), 64).splitlines()
    files = [line for line in lines if "/" in line and not line.partition("=")[2].startswith(_PLUGINS)]
    assert files
    assert all("/scratch/sl/" in line for line in files)
    assert "SlurmctldHost=here(127.0.0.1)" in lines
    assert "NodeName=here NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN" in lines
    assert {"SlurmctldPort=40001", "SlurmdPort=40002"} <= set(lines)


_PLUGINS = ("auth/", "proctrack/", "task/", "jobacct_gather/", "accounting_storage/", "select/")


def test_ports_are_different_ones() -> None:
    assert len(set(free_ports(3))) == 3


def test_a_program_that_is_there_needs_no_package() -> None:
    assert os.path.basename(need(["sh"], ["no-such-package"])["sh"]) == "sh"


def test_whoever_may_not_install_is_told_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **how: "/apt" if name == "apt-get" else which(name, **how))
    with pytest.raises(Unavailable, match="sudo apt-get install -y --no-install-recommends slurmctld munge"):
        need(["no-such-program"], ["slurmctld", "munge"])


def test_without_apt_get_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **how: None)
    with pytest.raises(Unavailable, match="needs slurmctld, and there is no apt-get"):
        need(["no-such-program"], ["slurmctld"])


def test_the_last_line_is_the_last_that_says_something() -> None:
    assert last_line("trying\n  no such host \n\n") == "no such host"
    assert last_line("") == "it said nothing"
