"""Futures over a real instance. What is called comes from the standard library: jobs find it as we do."""

from __future__ import annotations

import operator
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import wait

import pytest

from fluxlike.client import FluxlikeExecutor, JobFailed
from fluxlike.testing.instance import Instance
from fluxlike.testing.waiting import wait_until

pytestmark = pytest.mark.system


@pytest.fixture
def executor(flux: Instance) -> Iterator[FluxlikeExecutor]:
    with FluxlikeExecutor(flux.uri, cwd=str(flux.site.root)) as executor:
        yield executor


def test_calls_run_in_other_processes_where_they_are_told_to(flux: Instance, executor: FluxlikeExecutor) -> None:
    pid, place = executor.submit(os.getpid), executor.submit(os.getcwd)
    assert pid.result(30) != os.getpid()
    assert place.result(30) == str(flux.site.root)
    assert flux.client.job(pid.job_id()).name == "getpid"


def test_large_arguments_and_results_come_through(executor: FluxlikeExecutor) -> None:
    data = os.urandom(3 << 20)
    assert executor.submit(operator.mul, data, 2).result(60) == data * 2


def test_what_a_call_prints_is_the_output_of_its_job(flux: Instance, executor: FluxlikeExecutor) -> None:
    future = executor.submit(print, "hello")
    assert future.result(30) is None
    chunks = flux.client.output(future.job_id(), follow=False)
    assert b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr") == b"hello\n"


def test_call_whose_process_is_killed_has_failed(flux: Instance, executor: FluxlikeExecutor) -> None:
    future = executor.submit(time.sleep, 1000)
    flux.until(future.job_id(30), "start")
    flux.client.kill(future.job_id(), signal.SIGKILL)
    error = future.exception(30)
    assert isinstance(error, JobFailed)
    assert error.record.returncode == 128 + signal.SIGKILL


def test_call_of_a_python_that_is_not_there_has_failed(flux: Instance) -> None:
    with FluxlikeExecutor(flux.uri, python="/no/such/python") as executor:
        assert isinstance(executor.submit(os.getpid).exception(30), JobFailed)


def test_cancelled_future_ends_its_running_job(flux: Instance, executor: FluxlikeExecutor) -> None:
    future = executor.submit_command(["sleep", "1000"])
    flux.until(future.job_id(30), "start")
    assert future.cancel()
    record = flux.wait(future.job_id())
    assert (record.result, record.exception_note) == ("canceled", "its future was cancelled")


def test_a_thousand_futures_take_a_few_messages(flux: Instance, executor: FluxlikeExecutor) -> None:
    futures = [executor.submit_command(["true"]) for _ in range(1000)]
    done, late = wait(futures, 60)
    assert not late
    assert {future.result().result for future in done} == {"completed"}
    assert len({future.job_id() for future in done}) == 1000


def test_executor_inside_a_job_uses_the_instance_of_its_job(flux: Instance) -> None:
    program = "from fluxlike.client import FluxlikeExecutor as E; print(E().submit(pow, 2, 5).result(30))"
    job = flux.submit("python", "-c", program)
    assert flux.wait(job).result == "completed"
    wait_until(lambda: flux.output(job) == b"32\n", show=lambda: flux.output(job))
