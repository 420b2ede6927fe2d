from __future__ import annotations

import pytest

from fluxlike.client.uri import MAX_PATH, local_uri, resolve, socket_path
from fluxlike.errors import ConfigError, InvalidRequest


def test_path_of_a_local_uri() -> None:
    assert socket_path("local:///run/user/1000/fluxlike/local-0") == "/run/user/1000/fluxlike/local-0"


def test_uri_of_a_path_leads_back_to_it() -> None:
    assert socket_path(local_uri("/tmp/a b%20c/ƒ")) == "/tmp/a b%20c/ƒ"


@pytest.mark.parametrize(
    "uri", ["", "/tmp/socket", "local://tmp/socket", "local:/tmp/x", "ssh://host/tmp/x", "LOCAL:///tmp/x"]
)
def test_other_forms_are_refused_and_quoted(uri: str) -> None:
    with pytest.raises(InvalidRequest, match="is not an address of the form local:///path/to/socket") as caught:
        socket_path(uri)
    assert repr(uri) in str(caught.value)


def test_path_longer_than_the_kernel_takes_is_refused() -> None:
    longest = "/" + "x" * (MAX_PATH - 1)
    assert socket_path("local://" + longest) == longest
    for path in (longest + "x", "/" + "ƒ" * (MAX_PATH // 2 + 1), "/with\0zero"):
        with pytest.raises(InvalidRequest, match="at most 107 bytes"):
            socket_path("local://" + path)


def test_given_uri_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXLIKE_URI", "local:///environment")
    assert resolve("local:///given") == "local:///given"
    assert resolve(None) == "local:///environment"


@pytest.mark.parametrize("value", [None, ""])
def test_without_an_instance_the_error_says_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("FLUXLIKE_URI", raising=False)
    if value is not None:
        monkeypatch.setenv("FLUXLIKE_URI", value)
    with pytest.raises(ConfigError, match="FLUXLIKE_URI is not set") as caught:
        resolve(None)
    assert "`fluxlike start`" in str(caught.value)
    assert "`export FLUXLIKE_URI=$(fluxlike start --detach)`" in str(caught.value)


def test_bad_uri_in_the_environment_is_blamed_on_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXLIKE_URI", "tcp://host:1")
    with pytest.raises(ConfigError, match="FLUXLIKE_URI: 'tcp://host:1' is not an address"):
        resolve(None)
