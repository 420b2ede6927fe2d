from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fluxlike_broker.store.load import JobRow, Loaded, allocation_of, events_of, load

if TYPE_CHECKING:
    from tests.unit.store.conftest import Bench

AddJob = Callable[..., None]


def test_new_store_is_empty(bench: Bench) -> None:
    assert bench.ask(bench.writer(), load) == Loaded(specs={}, inactive=[], active=[], state={})


def test_loading_gives_back_what_was_written(bench: Bench) -> None:
    writer = bench.writer()
    batch = writer.batch
    batch.spec("sha1-a", b"\x00\xff")
    batch.spec("sha1-b", b"b")
    batch.job(30, "sha1-b", 1001, 31, "waitable", '{"cc":"1"}', 3.25)
    batch.job(20, "sha1-a", 1000, 16, "", None, 2.5)
    batch.job(10, "sha1-a", 1000, 16, "", '{"cc":"0"}', 1.5)
    batch.event(30, 0, 3.25, "submit", '{"urgency":31}')
    batch.event(10, 0, 1.5, "submit", None)
    batch.event(30, 1, 3.5, "alloc", None)
    batch.allocation(30, '{"version":1}')
    batch.allocation(10, '{"version":2}')
    batch.done(10, b"\x01summary")
    batch.put("next", "ƒ31")
    bench.settle(writer)
    writer.close(30.0)

    events = [(0, 3.25, "submit", '{"urgency":31}'), (1, 3.5, "alloc", None)]
    assert bench.ask(bench.writer(), load) == Loaded(
        specs={"sha1-a": b"\x00\xff", "sha1-b": b"b"},
        inactive=[(10, "sha1-a", '{"cc":"0"}', b"\x01summary")],
        active=[
            JobRow(20, "sha1-a", 1000, 16, "", None, 2.5),
            JobRow(30, "sha1-b", 1001, 31, "waitable", '{"cc":"1"}', 3.25, events, '{"version":1}'),
        ],
        state={"next": "ƒ31"},
    )


def test_events_and_allocation_of_one_job_are_found_also_after_its_end(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    for job in (1, 2, 3):
        add_job(writer.batch, job, events=3)
    writer.batch.allocation(2, "R")
    writer.batch.done(2, b"s")
    expected = [(0, 1.5, "submit", '{"a":1}'), (1, 2.5, "event1", None), (2, 3.5, "event2", None)]
    assert bench.ask(writer, partial(events_of, job_id=2)) == expected
    assert bench.ask(writer, partial(allocation_of, job_id=2)) == "R"


def test_unknown_job_has_no_events_and_no_allocation(bench: Bench) -> None:
    writer = bench.writer()
    assert bench.ask(writer, partial(events_of, job_id=9)) == []
    assert bench.ask(writer, partial(allocation_of, job_id=9)) is None


def test_events_come_in_their_own_order_whatever_the_order_of_writing(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 1, events=0)
    for seq in (3, 0, 2, 1):
        writer.batch.event(1, seq, 0.0, "tick", None)
        bench.settle(writer)
    assert [event[0] for event in bench.ask(writer, load).active[0].events] == [0, 1, 2, 3]


def test_largest_job_id_survives(bench: Bench, add_job: AddJob) -> None:
    writer = bench.writer()
    add_job(writer.batch, 2**63 - 1)
    assert [job.id for job in bench.ask(writer, load).active] == [2**63 - 1]


# Group n is five jobs with eight events each and the end of group n - 1; it is acknowledged by its number.
ENDLESS = """
import queue, sys
from fluxlike_broker.store.writer import StoreWriter
inbox = queue.SimpleQueue()
def acknowledge(n):
    sys.stdout.write(f"{n}\\n"); sys.stdout.flush()
writer = StoreWriter("sqlite:///" + sys.argv[1], True, inbox.put, print, print)
n = 0
while True:
    batch = writer.batch
    for job in range(5 * n, 5 * n + 5):
        batch.job(job, "sha1-a", 1000, 16, "", None, 1.0)
        for seq in range(8):
            batch.event(job, seq, float(seq), "tick", None)
        batch.allocation(job, "R")
        if n:
            batch.done(job - 5, b"s")
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
    command = [sys.executable, "-c", ENDLESS, str(bench.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(survive)]
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read()
    acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]

    found = bench.ask(bench.writer(durable=True), load)
    last = int(found.state["last"])
    assert last >= acknowledged[-1] == len(acknowledged) - 1
    assert [row[0] for row in found.inactive] == list(range(5 * last))
    assert [job.id for job in found.active] == list(range(5 * last, 5 * last + 5))
    assert all([event[0] for event in job.events] == list(range(8)) for job in found.active)
    assert all(job.allocation == "R" for job in found.active)
    assert bench.look("SELECT count(*) FROM events") == [(40 * (last + 1),)]
