from __future__ import annotations

import pytest

from fluxlike.errors import InvalidRequest
from fluxlike.jobspec import dependency

ID = 6731191091817518


@pytest.mark.parametrize("scheme", sorted(dependency.JOB_SCHEMES))
@pytest.mark.parametrize("value", ["ƒuZZybuNNy", "fuZZybuNNy", str(ID), hex(ID), "0017.e9fb.8df1.6c2e"])
def test_job_is_named_in_any_encoding(scheme: str, value: str) -> None:
    entry = dependency.parse(f"{scheme}:{value}")
    assert entry == {"scheme": scheme, "value": value}
    assert dependency.job_id(entry) == ID


def test_after_is_an_old_name_of_afterstart() -> None:
    assert dependency.parse("after:f1") == {"scheme": "afterstart", "value": "f1"}


def test_begin_time_is_seconds_since_1970() -> None:
    entry = dependency.parse("begin-time:1700000000.25")
    assert dependency.begin_time(entry) == 1700000000.25


def test_options_become_further_keys() -> None:
    entry = dependency.parse("afterok:f1?type=in&scope=user;note=a%26b")
    assert entry == {"scheme": "afterok", "value": "f1", "type": "in", "scope": "user", "note": "a&b"}
    assert dependency.parse(dependency.to_text(entry)) == entry


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("afterokay:f1", "did you mean 'afterok'?"),
        ("begintime:1", "did you mean 'begin-time'?"),
        ("zzz:f1", "known are afterany, afterexcept"),
        (":f1", "unknown scheme ''"),
        ("string:foo", "unknown scheme 'string'"),
        ("afterok", "must be SCHEME:VALUE"),
        ("afterok:", "must be SCHEME:VALUE"),
        ("", "must be SCHEME:VALUE"),
        ("afterok:tomorrow!", "invalid job id 'tomorrow!'"),
        ("afterok:18446744073709551616", "invalid job id"),
        ("begin-time:noon", "must be seconds since 1970"),
        ("begin-time:-1", "must be seconds since 1970"),
        ("begin-time:nan", "must be seconds since 1970"),
        ("begin-time:inf", "must be seconds since 1970"),
        ("afterok:f1?type", "option 'type' must be key=value"),
        ("afterok:f1?=x", "option '=x' must be key=value"),
        ("afterok:f1?", "option '' must be key=value"),
        ("afterok:f1?a=1&a=2", "option 'a=2' is given twice"),
        ("afterok:f1?value=f2", "option 'value=f2' is given twice"),
        ("afterok:f1?a=%00", "NUL"),
    ],
)
def test_faulty_dependency_is_refused_quoting_it(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        dependency.parse(text)
    assert reason in str(caught.value)
    assert repr(text) in str(caught.value)
