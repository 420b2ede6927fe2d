"""Rows that the database will never take: nobody else suffers for them, and nothing is tried for ever."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fluxlike.ids import encode_f58
from fluxlike.job.eventlog import line, parse
from fluxlike_broker.store import history
from fluxlike_broker.store.load import load

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench, ServerBench

AddJob = Callable[..., None]

LONE = "\udcff"
"""What an undecodable byte becomes under surrogateescape: no UTF-8 holds it."""


def test_new_job_that_cannot_be_stored_is_refused_by_name_and_the_store_goes_on(
    bench: Bench, add_job: AddJob, caplog: pytest.LogCaptureFixture
) -> None:
    bench.refuse_new_jobs = True
    writer = bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    bench.settle(writer)
    for job in range(100, 400):
        add_job(writer.batch, job)
    bad = 250
    writer.batch.jobs[150] = (bad, "sha1-a", 1000, 16, "", LONE, 1.5, 1)
    writer.batch.event(1, 8, '[9.0,"news",null]')
    writer.flush()
    bench.run_until(lambda: bench.recoveries)
    assert len(bench.failures) == 1
    assert f"job {encode_f58(bad)} cannot be stored" in bench.failures[0][1]
    assert f"job {encode_f58(bad)} cannot be stored" in caplog.text
    assert bench.refused == set(range(100, 400))
    assert bench.look("SELECT id FROM jobs") == [(1,)]
    assert bench.look("SELECT job, seq FROM segments") == [(1, 8)], "what was known of others is stored"
    add_job(writer.batch, 500)
    bench.settle(writer)


def test_log_with_a_lone_surrogate_is_stored_escaped_and_reads_the_same(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(retry=3600.0)
    for job in (1, 2):
        add_job(writer.batch, job, events=1)
    bench.settle(writer)
    note = {"note": f"\0{LONE}ü"}
    writer.batch.event(1, 1, line(2.0, "exception", note))
    writer.batch.event(2, 1, line(2.0, "start", None))
    bench.settle(writer)
    assert parse(bench.ask(writer, partial(history.log_of, job_id=1)))[1] == (2.0, "exception", note)
    assert len(parse(bench.ask(writer, partial(history.log_of, job_id=2)))) == 2
    assert bench.failures == []


def test_text_with_nul_round_trips_or_is_escaped(bench: Bench) -> None:
    writer = bench.writer(retry=3600.0)
    writer.batch.put("reason", "a\0b")
    bench.settle(writer)
    assert bench.ask(writer, load).state["reason"] in ("a\0b", "a\\u0000b")
    assert bench.failures == []


def test_rows_written_twice_by_mistake_count_as_the_later_ones(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    bench.settle(writer)
    for text in ("[1]", "[2]"):
        writer.batch.event(1, 8, text)
        bench.settle(writer)
    assert bench.look("SELECT log FROM segments") == [("[2]",)]
    assert bench.failures == []


def test_row_that_cannot_be_saved_in_any_way_is_lost_alone_and_named(
    bench: Bench, add_job: AddJob, caplog: pytest.LogCaptureFixture
) -> None:
    writer = bench.writer(retry=3600.0)
    for job in range(40):
        add_job(writer.batch, job, events=1)
    bench.settle(writer)
    for job in range(40):
        writer.batch.event(job, 2**70 if job == 7 else 1, "[1]")
    bench.settle(writer)
    assert bench.look("SELECT job FROM segments ORDER BY job") == [(job,) for job in range(40) if job != 7]
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert f"job {encode_f58(7)}: news of it cannot be stored" in errors[0]


def test_new_jobs_that_nobody_refuses_are_not_tried_for_ever_either(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    add_job(writer.batch, 2)
    writer.batch.jobs[0] = (1, "sha1-a", 1000, 2**70, "", None, 1.5, 1)
    bench.settle(writer)
    assert bench.look("SELECT id FROM jobs") == [(2,)]


def test_key_that_is_too_long_for_an_index_costs_only_its_own_batch(server_bench: ServerBench, add_job: AddJob) -> None:
    bench = server_bench
    bench.refuse_new_jobs = True
    writer = bench.writer(retry=3600.0)
    add_job(writer.batch, 1)
    writer.batch.key("".join(chr(256 + i * 7919 % 20000) for i in range(9000)), 1, 1, 1.0)
    writer.flush()
    bench.run_until(lambda: bench.recoveries)
    assert "index row" in bench.failures[0][1]
    assert bench.look("SELECT id FROM jobs") == []
