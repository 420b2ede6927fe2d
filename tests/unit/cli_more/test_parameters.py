"""What people type becomes a value or a usage error."""

from __future__ import annotations

import click
import pytest

from fluxlike_cli.commands import parameters


@pytest.mark.parametrize("text", ["USR1", "SIGUSR1", "usr1", "SigUsr1", "10"])
def test_signal_is_taken_by_name_with_or_without_prefix_or_by_number(text: str) -> None:
    assert parameters.signal(text) == 10


@pytest.mark.parametrize("text", ["", "NOPE", "SIG", "0", "99", "-9", "_IGN"])
def test_what_is_no_signal_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a signal"):
        parameters.signal(text)


@pytest.mark.parametrize(("text", "value"), [("hold", 0), ("Default", 16), ("expedite", 31), ("7", 7), ("31", 31)])
def test_urgency_is_a_number_or_a_name(text: str, value: int) -> None:
    assert parameters.urgency(text) == value


@pytest.mark.parametrize("text", ["32", "-1", "soon", "1.5", ""])
def test_what_is_no_urgency_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="from 0 to 31"):
        parameters.urgency(text)


def test_job_id_is_taken_in_every_encoding() -> None:
    for text in ("ƒuZZybuNNy", "fuZZybuNNy", "6731191091817518", "0x17e9fb8df16c2e", "0017.e9fb.8df1.6c2e"):
        assert parameters.job_id(text) == 6731191091817518
    with pytest.raises(click.BadParameter, match="'nope'"):
        parameters.job_id("nope")


def test_timeout_without_end_is_none() -> None:
    assert parameters.timeout("1.5m") == 90.0
    assert parameters.timeout("inf") is None
    assert parameters.timeout("99999d") is None
    with pytest.raises(click.BadParameter):
        parameters.timeout("soon")
