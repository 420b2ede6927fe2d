from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from fluxlike.config.load import load
from fluxlike.config.registry import KEYS, values
from fluxlike.config.settings import HostEntry, Settings
from fluxlike.errors import ConfigError


def written(tmp_path: Path, text: str, name: str = "cluster.toml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def refusal(files: list[str], overrides: list[str]) -> str:
    with pytest.raises(ConfigError) as caught:
        load(files, overrides)
    return str(caught.value)


def test_nothing_given_means_the_defaults() -> None:
    assert load([], []) == Settings()


def test_options_win_over_files_and_later_ones_over_earlier(tmp_path: Path) -> None:
    first = written(tmp_path, '[exec]\nlost-grace = "90s"\nkill-timeout = 1\n[log]\nring = 10\n', "a.toml")
    second = written(tmp_path, "[exec]\nlost-grace = 45.5\n", "b.toml")
    settings = load([first, second], ["exec.kill-timeout=2m", "exec.kill-timeout=3s"])
    assert settings.exec.lost_grace == 45.5
    assert settings.exec.kill_timeout == 3.0
    assert settings.log.ring == 10


def test_a_directory_stands_for_its_toml_files_in_order_of_name(tmp_path: Path) -> None:
    written(tmp_path, "[log]\nring = 2\n", "20-site.toml")
    written(tmp_path, "[log]\nring = 1\n", "10-base.toml")
    written(tmp_path, "not toml", "README")
    assert load([str(tmp_path)], []).log.ring == 2


@pytest.mark.parametrize(
    ("option", "section", "field", "value"),
    [
        ("tbon.topo=kary:4", "overlay", "fanout", 4),
        ("tbon.topo=kary:0", "overlay", "fanout", 0),
        ("tbon.fanout=32", "overlay", "fanout", 32),
        ("tbon.torpid=10s", "overlay", "torpid", 10.0),
        ("tbon.lost=1m", "overlay", "lost", 60.0),
        ("heartbeat.period=500ms", "overlay", "heartbeat", 0.5),
        ("exec.lost-grace=inf", "exec", "lost_grace", inf),
        ("exec.lost-grace=0", "exec", "lost_grace", 0.0),
        ("exec.orphan-timeout=1h", "exec", "orphan_timeout", 3600.0),
        ("exec.mode=null", "exec", "mode", "null"),
        ("exec.mode=spawn", "exec", "mode", "spawn"),
        ("resource.cores=64", "resource", "cores", 64),
        ("resource.gpus=0", "resource", "gpus", 0),
        ("store.url=postgresql+psycopg://me@db/jobs?a=b", "store", "url", "postgresql+psycopg://me@db/jobs?a=b"),
        ("store.url=sqlite:////var/jobs", "store", "url", "sqlite:////var/jobs"),
        ("job-manager.inactive-age-limit=2d", "job_manager", "inactive_age_limit", 172800.0),
        ("job-manager.inactive-age-limit=inf", "job_manager", "inactive_age_limit", inf),
        ("job-manager.inactive-num-limit=1000", "job_manager", "inactive_num_limit", 1000),
        ("broker.quorum=3", "broker", "quorum", 3),
        ("broker.quorum-warn=inf", "broker", "quorum_warn", inf),
        ("log.level=debug", "log", "level", "debug"),
        ("log.stderr-level = error", "log", "stderr_level", "error"),
        ("bootstrap.curve_cert=/etc/curve.cert", "bootstrap", "curve_cert", "/etc/curve.cert"),
        ("bootstrap.enable_ipv6=true", "bootstrap", "enable_ipv6", True),
        ("bootstrap.default_bind=tcp://eth0:%p", "bootstrap", "default_bind", "tcp://eth0:%p"),
    ],
)
def test_an_option_sets_its_field(option: str, section: str, field: str, value: object) -> None:
    assert getattr(getattr(load([], [option]), section), field) == value


def test_every_key_reaches_a_field_and_has_a_help_text() -> None:
    for key in KEYS.values():
        assert hasattr(getattr(Settings(), key.section), key.field), key.name
        assert key.help


def test_values_shown_are_values_taken() -> None:
    options = [
        "tbon.topo=kary:3",
        "exec.lost-grace=inf",
        "exec.kill-timeout=90",
        "bootstrap.enable_ipv6=true",
    ]
    settings = load([], options)
    shown = values(settings)
    assert shown["tbon.topo"] == "kary:3"
    assert shown["tbon.fanout"] == "3"
    assert shown["exec.lost-grace"] == "inf"
    assert shown["exec.kill-timeout"] == "1.5m"
    assert shown["exec.orphan-timeout"] == ""
    assert load([], [f"{name}={value}" for name, value in shown.items() if value]) == settings


@pytest.mark.parametrize(
    ("option", "nearest"),
    [
        ("exec.lost-grase=3", "exec.lost-grace"),
        ("exec.lost_grace=3", "exec.lost-grace"),
        ("tbon.topology=kary:2", "tbon.topo"),
        ("resource.core=3", "resource.cores"),
        ("bootstrap.curve-cert=x", "bootstrap.curve_cert"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_nearest_key(option: str, nearest: str) -> None:
    text = refusal([], [option])
    assert option.partition("=")[0] in text
    assert f"did you mean {nearest!r}?" in text


@pytest.mark.parametrize(
    ("option", "nearest"), [("exec.mode=nul", "null"), ("exec.mode=Spawn", "spawn"), ("log.level=warn", "warning")]
)
def test_a_misspelt_value_is_refused_with_the_nearest_one(option: str, nearest: str) -> None:
    assert f"(the nearest is {nearest}), not" in refusal([], [option])


def test_an_option_like_nothing_known_is_refused_with_all_that_is(tmp_path: Path) -> None:
    assert "known are" in refusal([], ["zzz=1"])


def test_an_unknown_table_is_refused_with_its_file_and_the_nearest_one(tmp_path: Path) -> None:
    path = written(tmp_path, "[boostrap]\ndefault_port = 1\n")
    assert refusal([path], []) == f"{path}: unknown table [boostrap]; did you mean 'bootstrap'?"


def test_an_unknown_key_in_a_file_is_refused_with_its_file_and_the_nearest_one(tmp_path: Path) -> None:
    path = written(tmp_path, '[exec]\nkill-time = "5s"\n')
    assert refusal([path], []) == f"{path}: unknown key 'exec.kill-time'; did you mean 'exec.kill-timeout'?"


@pytest.mark.parametrize(
    "option",
    [
        "exec.lost-grace=soon",
        "exec.lost-grace=-1s",
        "exec.lost-grace=",
        "exec.kill-timeout=inf",
        "heartbeat.period=0",
        "heartbeat.period=inf",
        "tbon.topo=binomial",
        "tbon.topo=kary",
        "tbon.topo=kary:-1",
        "tbon.topo=16",
        "tbon.fanout=1.5",
        "tbon.fanout=\u0663",
        "resource.cores=0",
        "resource.cores=100000000000",
        "resource.gpus=-1",
        "broker.quorum=0",
        "broker.quorum-warn=0",
        "exec.mode=nul",
        "exec.mode=",
        "log.level=loud",
        "log.ring=0",
        "bootstrap.default_port=65536",
        "bootstrap.default_bind=eth0:%p",
        "bootstrap.default_connect=tcp://%H:%p",
        "bootstrap.curve_cert=",
        "bootstrap.enable_ipv6=maybe",
        "bootstrap.hosts=node[0-3]",
    ],
)
def test_a_wrong_value_is_refused_with_its_option_and_key(option: str) -> None:
    text = refusal([], [option])
    assert text.startswith(f"-S {option}: {option.partition('=')[0]}: must be ")


@pytest.mark.parametrize(
    "line",
    [
        "lost-grace = true",
        "lost-grace = nan",
        "lost-grace = [1]",
        "lost-grace = -0.5",
        "kill-timeout = inf",
        "kill-timeout = 1979-05-27",
    ],
)
def test_a_wrong_type_in_a_file_is_refused_with_its_file_and_key(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"[exec]\n{line}\n")
    assert refusal([path], []).startswith(f"{path}: exec.{line.partition(' ')[0]}: must be ")


@pytest.mark.parametrize("line", ['cores = "many"', "cores = 4.0", "cores = true", "gpus = {}", "cores = [4]"])
def test_counts_are_whole_numbers(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"[resource]\n{line}\n")
    assert "must be a whole number" in refusal([path], [])


def test_an_option_without_a_value_is_refused() -> None:
    assert refusal([], ["exec.lost-grace"]) == "-S exec.lost-grace: must be KEY=VALUE"


def test_a_table_that_is_a_value_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "exec = 3\n")
    assert refusal([path], []) == f"{path}: exec: must be a table, not 3"


def test_a_file_that_is_not_there_is_named() -> None:
    assert refusal(["/nonexistent/x.toml"], []) == "/nonexistent/x.toml: cannot be read: No such file or directory"


def test_a_file_that_is_not_toml_is_named_with_the_place(tmp_path: Path) -> None:
    path = written(tmp_path, "[exec\n")
    assert refusal([path], []).startswith(f"{path}: is not TOML: ")
    assert "line 1" in refusal([path], [])


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff\xfe[exec]")
    assert refusal([str(path)], []).startswith(f"{path}: is not TOML: ")


def test_silence_limits_must_be_longer_than_what_they_count() -> None:
    text = refusal([], ["heartbeat.period=10s"])
    assert text == "tbon.torpid: must be longer than heartbeat.period; 6s is not more than 10s"
    assert refusal([], ["tbon.torpid=1m"]).startswith("tbon.lost: must be longer than tbon.torpid")
    assert load([], ["heartbeat.period=10s", "tbon.torpid=30s", "tbon.lost=2m"]).overlay.lost == 120.0


def test_orphans_wait_for_a_broker_that_can_come_back() -> None:
    settings = load([], []).exec
    assert settings.orphan_timeout_for(has_state=False) == 5.0
    assert settings.orphan_timeout_for(has_state=True) == 600.0
    chosen = load([], ["exec.orphan-timeout=7"]).exec
    assert chosen.orphan_timeout_for(has_state=False) == chosen.orphan_timeout_for(has_state=True) == 7.0


def test_a_bootstrap_table_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
[bootstrap]
curve_cert = "/mnt/curve/curve.cert"
default_port = 8060
default_bind = "tcp://eth0:%p"
default_connect = "tcp://%h.svc.cluster.local:%p"
hosts = [{ host = "lead", bind = "tcp://*:9000" }, { host = "node[0-2]" }]
""",
    )
    bootstrap = load([path], []).bootstrap
    assert bootstrap.curve_cert == "/mnt/curve/curve.cert"
    assert bootstrap.default_port == 8060
    assert bootstrap.hosts == (HostEntry("lead", bind="tcp://*:9000"), HostEntry("node[0-2]"))


@pytest.mark.parametrize(
    ("hosts", "complaint"),
    [
        ("3", "bootstrap.hosts: must be an array"),
        ("[3]", "bootstrap.hosts[0]: must be a table"),
        ('[{ host = "a" }, { bind = "tcp://*:1" }]', "bootstrap.hosts[1]: host is missing"),
        (
            '[{ host = "a", port = 3 }]',
            "bootstrap.hosts[0]: unknown key 'port'; known are host, bind, connect",
        ),
        ('[{ host = "" }]', "bootstrap.hosts[0].host: must be a hostlist"),
        ("[{ host = 4 }]", "bootstrap.hosts[0].host: must be a hostlist"),
        ('[{ host = "a[3-1]" }]', "bootstrap.hosts[0].host: must be a hostlist"),
        ('[{ host = "a", bind = "eth0" }]', "bootstrap.hosts[0].bind: must be an endpoint"),
        ('[{ host = "a", connect = "tcp://%x:1" }]', "bootstrap.hosts[0].connect: must be an endpoint"),
        ('[{ host = "a", connect = "tcp://a:1%" }]', "bootstrap.hosts[0].connect: must be an endpoint"),
    ],
)
def test_a_wrong_host_entry_is_refused_with_its_file_and_place(tmp_path: Path, hosts: str, complaint: str) -> None:
    path = written(tmp_path, f"[bootstrap]\nhosts = {hosts}\n")
    assert refusal([path], []).startswith(f"{path}: {complaint}")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("job-manager.inactive-age-limit=soon", "must be a duration such as 30, 1.5m or 2h, not 'soon'"),
        ("job-manager.inactive-age-limit=-1", "must be "),
        ("job-manager.inactive-num-limit=-1", "must be a whole number, 0 or more, not '-1'"),
        ("job-manager.inactive-num-limit=many", "must be a whole number, 0 or more, not 'many'"),
        ("job-manager.inactive-numlimit=1", "did you mean 'job-manager.inactive-num-limit'?"),
    ],
)
def test_limits_of_the_history_that_make_no_sense_are_refused(option: str, complaint: str) -> None:
    assert complaint in refusal([], [option])


@pytest.mark.parametrize(
    "url", ["mysql://me:hunter2@db/jobs", "me:hunter2@db/jobs", "postgres://me:hunter2@db/jobs", ""]
)
def test_url_of_an_unknown_database_is_refused_without_repeating_it(tmp_path: Path, url: str) -> None:
    expected = "store.url: must be postgresql+psycopg://USER@HOST/DATABASE or sqlite:////PATH"
    assert refusal([], [f"store.url={url}"]) == f"-S store.url: {expected}"
    path = written(tmp_path, f'[store]\nurl = "{url}"\n')
    assert refusal([path], []) == f"{path}: {expected}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://db/jobs", "postgresql://db/jobs"),
        ("postgresql://me@db:5432/jobs", "postgresql://me@db:5432/jobs"),
        ("postgresql://me:secret@db/jobs?a=b", "postgresql://me@db/jobs?a=b"),
        ("postgresql://me:sec?ret@db/jobs", "postgresql://me@db/jobs"),
        ("postgresql://me:sec:r@et@db/jobs", "postgresql://me@db/jobs"),
        ("postgresql:///jobs?password=secret&host=/run", "postgresql:///jobs?host=/run"),
        ("postgresql:///jobs?sslpassword=secret", "postgresql:///jobs"),
        ("sqlite:////var/jobs", "sqlite:////var/jobs"),
    ],
)
def test_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert values(load([], [f"store.url={url}"]))["store.url"] == shown
