"""What is wrong is refused at once, by name, with a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fluxlike.errors import FluxlikeError, InvalidJobspec, NotFound, Unsatisfiable
from fluxlike.jobspec.build import from_command
from fluxlike.jobspec.parse import loads
from fluxlike.testing.instance import Instance, Site

pytestmark = pytest.mark.system

INVALID = Path(__file__).parent.parent / "unit" / "jobspec" / "invalid"


def samples() -> list[Path]:
    found = sorted(INVALID.glob("*.yaml"))
    assert len(found) > 100
    return found


def expected_path(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# path:").strip()


def test_every_invalid_jobspec_is_refused_with_the_path_of_its_fault(flux: Instance) -> None:
    before = len(flux.client.jobs(limit=0))
    for sample in samples():
        if sample.stem in UNSENDABLE:
            continue
        text = sample.read_text()
        with pytest.raises(InvalidJobspec) as caught:
            flux.client.submit(yaml.safe_load(text))
        assert str(caught.value).startswith(expected_path(text)), f"{sample.stem}: {caught.value}"
    assert len(flux.client.jobs(limit=0)) == before
    assert flux.wait(flux.sh("true")).result == "completed"


UNSENDABLE = {
    "count_is_beyond_counting",
    "document_holds_a_tag",
    "document_is_a_list",
    "document_is_empty",
    "document_is_not_yaml",
    "document_is_two_documents",
    "key_is_given_twice",
    "user_refers_to_itself",
}
"""Faults of the text, or values that no message holds: found before anything is sent."""


@pytest.mark.parametrize("name", [*sorted(UNSENDABLE), "count_is_zero", "v1_duration_is_missing"])
def test_job_submit_names_the_path_on_standard_error(flux: Instance, name: str) -> None:
    sample = INVALID / f"{name}.yaml"
    done = flux.cli("job", "submit", str(sample))
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert expected_path(sample.read_text()) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_message_with_one_bad_job_creates_none(flux: Instance) -> None:
    before = len(flux.client.jobs(limit=0))
    good = from_command(["true"])
    bad = {**good, "resources": []}
    with pytest.raises(InvalidJobspec):
        flux.client.submit_many([good, good, bad])
    assert len(flux.client.jobs(limit=0)) == before


def test_a_job_that_never_fits_is_refused_with_the_limit(flux: Instance) -> None:
    done = flux.cli("submit", "-N", "100", "true")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "100" in done.stderr
    assert "4" in done.stderr
    too_much: list[dict[str, Any]] = [
        {"ntasks": 17},
        {"cores_per_task": 5},
        {"gpus_per_task": 1},
        {"nnodes": 4, "ntasks": 20},
    ]
    for options in too_much:
        with pytest.raises(Unsatisfiable, match=r"\d"):
            flux.submit("true", **options)


def test_what_fits_an_idle_machine_is_accepted(flux: Instance) -> None:
    assert flux.wait(flux.submit("true", ntasks=16)).result == "completed"
    assert flux.wait(flux.submit("true", nnodes=4, ntasks=4, cores_per_task=4)).result == "completed"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("jbos",), "jobs"),
        (("submit", "--ntask", "1", "true"), "--ntasks"),
        (("run", "--lable-io", "true"), "--label-io"),
        (("start", "--stadedir", "x"), "--statedir"),
        (("job", "evntlog", "1"), "eventlog"),
        (("jobs", "-o", "nmae"), "name"),
        (("getattr", "broker.pdi"), "broker.pid"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_an_unknown_word_is_named_with_the_nearest_known(flux: Instance, words: tuple[str, ...], hint: str) -> None:
    done = flux.cli(*words)
    assert done.returncode in (1, 2), done
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("exec.lostgrace=5", ("exec.lostgrace", "exec.lost-grace")),
        ("tbon.topology=kary:2", ("tbon.topology", "tbon.topo")),
        ("exec.mode=nul", ("exec.mode", "nearest is null")),
        ("tbon.topo=binary", ("tbon.topo", "kary")),
        ("heartbeat.period=often", ("heartbeat.period", "often")),
        ("tbon.lost=1", ("tbon.lost", "tbon.torpid")),
    ],
)
def test_a_wrong_setting_is_named(site: Site, setting: str, words: tuple[str, ...]) -> None:
    done = site.cli("start", *site.options(), "-S", setting, "--", "true")
    assert done.returncode == 1, done
    assert all(word in done.stderr for word in words), done.stderr


def test_an_unknown_key_of_a_file_is_named_with_the_file(site: Site) -> None:
    path = site.root / "conf.toml"
    path.write_text("[exec]\nkill-timeuot = 3\n")
    done = site.cli("start", "--conf", str(path), "--", "true")
    assert done.returncode == 1
    assert all(word in done.stderr for word in (str(path), "kill-timeuot", "kill-timeout")), done.stderr


def test_unknown_jobs_are_said_to_be_unknown(flux: Instance) -> None:
    for words in (("cancel", "ƒ1"), ("job", "attach", "ƒ1"), ("job", "eventlog", "ƒ1"), ("job", "urgency", "ƒ1", "5")):
        done = flux.cli(*words)
        assert done.returncode == 1, done
        assert "ƒ1" in done.stderr
    assert flux.cli("job", "wait", "ƒ1").returncode == 2
    with pytest.raises(NotFound):
        flux.client.wait(1, timeout=10)
    with pytest.raises(FluxlikeError):
        flux.client.submit(from_command(["true"], dependencies=[{"scheme": "afterok", "value": "ƒ1"}]))


def test_samples_are_what_the_parser_refuses() -> None:
    for sample in samples():
        with pytest.raises(InvalidJobspec):
            loads(sample.read_text())
