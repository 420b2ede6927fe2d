from __future__ import annotations

from typing import Any

import pytest

from fluxlike_executor.environment import job_environment, render_values, set_task, tags_of
from fluxlike_executor.instance import Instance
from fluxlike_executor.job import Job
from fluxlike_executor.spec import Spec
from fluxlike_executor.wire import ProtocolError

HELLO: dict[str, Any] = {
    "instance": "i",
    "rank": 5,
    "host": "node-1",
    "uri": "local:///run/x",
    "tmpdir": "/run/jobs",
    "kill_timeout": 5,
    "orphan_timeout": 5.0,
    "userid": 0,
    "protocol": 1,
}


def job(number: int = 6731191091817518, cc: str | None = None) -> Job:
    return Job([number, 1, "d", cc, 1, 2, 4, 4, 8, "0-3", ""], None)


def spec(**env: str) -> Spec:
    return Spec({"command": ["true"], "env": env})


def test_a_task_is_told_who_it_is() -> None:
    environment = job_environment(job(cc="9"), spec(HOME="/root", FLUX_JOB_ID="of the submitter"), Instance(HELLO))
    set_task(environment, job(), 2)
    assert environment == {
        b"HOME": b"/root",
        b"FLUXLIKE_URI": b"local:///run/x",
        b"FLUX_JOB_ID": "ƒuZZybuNNy".encode(),
        b"FLUX_JOB_ID_PATH": "/ƒuZZybuNNy".encode(),
        b"FLUX_JOB_SIZE": b"8",
        b"FLUX_JOB_NNODES": b"2",
        b"FLUX_JOB_TMPDIR": b"",
        b"FLUX_JOB_CC": b"9",
        b"FLUX_TASK_RANK": b"6",
        b"FLUX_TASK_LOCAL_ID": b"2",
    }


def test_the_path_of_a_nested_job_begins_with_its_ancestors() -> None:
    instance = Instance({**HELLO, "id_path": "/ƒabc"})
    assert job_environment(job(), spec(), instance)[b"FLUX_JOB_ID_PATH"] == "/ƒabc/ƒuZZybuNNy".encode()


def test_the_cc_value_of_the_submitting_job_is_not_inherited() -> None:
    assert b"FLUX_JOB_CC" not in job_environment(job(), spec(FLUX_JOB_CC="3"), Instance(HELLO))


def test_a_transient_command_is_told_of_no_job() -> None:
    environment = job_environment(job(-3), spec(), Instance(HELLO))
    set_task(environment, job(-3), 0)
    assert environment == {b"FLUXLIKE_URI": b"local:///run/x", b"FLUXLIKE_EXEC": b"3"}


def test_tags_in_values_are_filled_in_for_each_task_anew() -> None:
    prepared = spec(OUT="{{name}}.{{task.id}}", PLAIN="{x}")
    environment = job_environment(job(), prepared, Instance(HELLO))
    for rank in ("4", "5"):
        tags = {**tags_of(job(), prepared, Instance(HELLO)), "task.id": rank}
        render_values(environment, prepared, tags)
        assert environment[b"OUT"] == b"." + rank.encode()
        assert environment[b"PLAIN"] == b"{x}"


@pytest.mark.parametrize("missing", ["rank", "host", "uri", "tmpdir", "kill_timeout", "orphan_timeout", "protocol"])
def test_a_greeting_that_lacks_a_field_is_refused(missing: str) -> None:
    with pytest.raises(ProtocolError):
        Instance({name: value for name, value in HELLO.items() if name != missing})


def test_a_greeting_of_another_protocol_is_refused() -> None:
    with pytest.raises(ProtocolError, match="protocol 1"):
        Instance({**HELLO, "protocol": 2})
