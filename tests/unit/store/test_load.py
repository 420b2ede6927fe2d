from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from fluxlike.ids import nth_after
from fluxlike.job.eventlog import parse
from fluxlike_broker.store.load import JobRow, Loaded, load

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench

AddJob = Callable[..., None]


def test_new_store_is_empty(bench: Bench) -> None:
    assert bench.ask(bench.writer(), load) == Loaded(specs={}, active=[], state={}, results={}, newest=0)


def test_loading_gives_back_what_was_written(bench: Bench) -> None:
    writer = bench.writer()
    batch = writer.batch
    batch.spec("sha1-a", b"\x00\xff")
    batch.spec("sha1-b", b"b")
    batch.spec("sha1-c", b"of an ended job only")
    batch.job((30, "sha1-b", 1001, 31, "waitable", '{"cc":"1"}', 3.25, 7))
    batch.job((20, "sha1-a", 1000, 16, "", None, 2.5, 1))
    batch.job((10, "sha1-c", 1000, 16, "", '{"cc":"0"}', 1.5, 1))
    for job in (10, 20, 30):
        batch.event(job, 0, f"[{job},0]")
    bench.settle(writer)
    writer.batch.event(30, 1, "[30,1]")
    writer.batch.allocation(30, '{"version":1}')
    bench.settle(writer)
    batch = writer.batch
    batch.event(30, 2, "[30,2],[30,3]")
    batch.event(10, 1, "[10,1]")
    batch.allocation(10, '{"version":2}')
    batch.end(10, (4.0, "FAILED", 1000, "name", 0, b"\x01summary"))
    batch.put("next", "ƒ31")
    bench.settle(writer)
    writer.close(30.0)

    assert bench.ask(bench.writer(), load) == Loaded(
        specs={"sha1-a": b"\x00\xff", "sha1-b": b"b"},
        active=[
            JobRow(20, "sha1-a", None, 1, ["[20,0]"]),
            JobRow(30, "sha1-b", '{"cc":"1"}', 7, ["[30,0]", "[30,1]", "[30,2],[30,3]"], '{"version":1}'),
        ],
        state={"next": "ƒ31"},
        results={"FAILED": 1},
        newest=nth_after(30, 7),
    )


def test_r_belongs_to_a_job_that_was_allocated_in_the_batch_that_made_it(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    for job in range(1, 21):
        add_job(writer.batch, job, events=3)
        if job % 2:
            writer.batch.allocation(job, f"R{job}")
    bench.settle(writer)
    for job in range(1, 21):
        writer.batch.event(job, 3, '[4.5,"start",null]')
    bench.settle(writer)
    active = bench.ask(writer, load).active
    assert [row.allocation for row in active] == [f"R{job}" if job % 2 else None for job in range(1, 21)]
    assert all(len(parse(row.log)) == 4 for row in active)


def test_log_of_many_commits_comes_back_in_order(bench: Bench, add_job: AddJob, log_part: Callable[..., str]) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1, events=1)
    for seq in range(1, 40):
        writer.batch.event(1, seq, log_part(1, seq, 1))
        if seq % 3 == 0:
            writer.flush()
    [row] = bench.ask(writer, load).active
    assert [event[2]["seq"] for event in parse(row.log)] == list(range(40))  # type: ignore[index]  # all have one


def test_largest_job_id_survives(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 2**63 - 1)
    found = bench.ask(writer, load)
    assert [job.id for job in found.active] == [2**63 - 1]
    assert found.newest == 2**63 - 1


def test_newest_id_is_known_also_if_its_job_has_ended(bench: Bench, add_job: AddJob, end_job: AddJob) -> None:
    writer = bench.writer()
    for job in (4, 9):
        add_job(writer.batch, job)
    end_job(writer.batch, 9)
    assert bench.ask(writer, load).newest == 9


def test_ended_arrays_are_told_apart_with_their_summaries(bench: Bench, add_job: AddJob, end_job: AddJob) -> None:
    writer = bench.writer()
    for job in (1, 2, 3):
        add_job(writer.batch, job)
        end_job(writer.batch, job, tasks=7 if job == 2 else 0)
    found = bench.ask(writer, load)
    assert (found.results, found.arrays) == ({"COMPLETED": 2}, [(7, b"summary2")])


def test_more_rows_than_are_read_at_a_time_come_back_whole(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    for job in range(12_000):
        add_job(writer.batch, job, events=1)
        writer.batch.allocation(job, "R")
    assert [row.id for row in bench.ask(writer, load).active if row.allocation] == list(range(12_000))


# Group n is five new jobs with four events and R each, and the other four events and the end of group n - 1;
# it is acknowledged by its number.
ENDLESS = """
import queue, sys
from fluxlike_broker.store.writer import StoreWriter
inbox = queue.SimpleQueue()
def acknowledge(n):
    sys.stdout.write(f"{n}\\n"); sys.stdout.flush()
writer = StoreWriter(sys.argv[1], True, inbox.put, print, print)
n = 0
while True:
    batch = writer.batch
    for job in range(5 * n, 5 * n + 5):
        batch.job((job, "sha1-a", 1000, 16, "", None, 1.0, 1))
        batch.event(job, 0, "0,1,2,3")
        batch.allocation(job, "R")
        if n:
            batch.event(job - 5, 4, "4,5,6,7")
            batch.end(job - 5, (2.0, "COMPLETED", 1000, "true", 0, b"s"))
    batch.put("last", str(n))
    batch.after_commit(lambda n=n: acknowledge(n))
    n += 1
    writer.flush()
    try:
        while True:
            inbox.get_nowait()()
    except queue.Empty:
        if n % 50 == 0:
            inbox.get()()
"""


@pytest.mark.parametrize("survive", [1, 20, 150, 600])
def test_killed_writer_leaves_whole_transactions_and_every_acknowledged_job(bench: Bench, survive: int) -> None:
    command = [sys.executable, "-c", ENDLESS, bench.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(survive)]
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read()
    acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]

    found = bench.ask(bench.writer(durable=True), load)
    last = int(found.state["last"])
    assert last >= acknowledged[-1] == len(acknowledged) - 1
    assert found.results == ({"COMPLETED": 5 * last} if last else {})
    assert [job.id for job in found.active] == list(range(5 * last, 5 * last + 5))
    assert all(json.loads(f"[{','.join(filter(None, job.log))}]") == [0, 1, 2, 3] for job in found.active)
    assert all(job.allocation == "R" for job in found.active)
    for first, rest in bench.look("SELECT jobs.log, history.log FROM jobs JOIN history USING (id)"):
        assert ",".join(filter(None, (first, rest))) == "0,1,2,3,4,5,6,7"
    assert bench.look("SELECT count(*) FROM segments WHERE r = 'R'") == [(5 * (last + 1),)]
