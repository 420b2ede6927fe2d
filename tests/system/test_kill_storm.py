"""Twenty thousand jobs, and a rank 0 that is killed twenty times meanwhile: each runs once, whatever the store."""

from __future__ import annotations

import random
import signal
from collections import Counter
from contextlib import suppress
from os import kill
from time import monotonic

import pytest

from fluxlike.client.blocking import Client
from fluxlike.errors import Disconnected
from fluxlike.ids import encode_f58
from fluxlike.jobspec.build import from_command
from fluxlike.protocol.jobs import JobStats, JobStatsReply, Submit, Submitted
from fluxlike.protocol.message import Message
from fluxlike.testing.instance import Instance, Site
from fluxlike.testing.postgresql import PostgresqlServer
from fluxlike.testing.processes import alive
from fluxlike.testing.waiting import wait_until
from fluxlike_executor.lock import holder

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]

JOBS = 20_000
BATCH = 250
KILLS = 20
AT_ONCE, MOST = 4, 10
"""Submissions on their way at a time, and in one life of rank 0."""

STARTING = 0.3
"""Seconds that a start takes, about."""

SETS = {"resource.cores": 64, "exec.orphan-timeout": 60, "exec.lost-grace": 60}

MOMENTS = (0.02, 0.2, 1.0)
"""Seconds after a start in which a kill may come: while it finds its jobs, while the client submits, in full run."""


class Storm:
    """The client that submits everything, the jobs' own record, and the one who kills."""

    def __init__(self, site: Site, seed: int, *options: str) -> None:
        self.site = site
        self.chance = random.Random(seed)
        self.options = options
        self.record = site.root / "ran"
        script = f"echo {{cc}} $FLUX_JOB_ID >> {self.record}"
        self.spec = from_command(["/bin/sh", "-c", script], cwd="/", environment={"PATH": "/usr/bin:/bin"})
        self.waiting = list(range(JOBS // BATCH))
        """Batches that were not acknowledged."""
        self.acknowledged: dict[int, list[int]] = {}
        self.asked: Counter[int] = Counter()
        self.flux = self.start()
        self.lock = str(self.flux.rundir / "0" / "broker.lock")

    def start(self) -> Instance:
        return self.site.start(1, *self.options, statedir="state", sets=SETS)

    def submission(self, batch: int) -> Submit:
        values = range(batch * BATCH, (batch + 1) * BATCH)
        return Submit(specs=[self.spec], jobs=[[0, str(value)] for value in values], key=f"storm/{batch}")

    def submit_until(self, moment: float) -> None:
        """Some submissions, a few on their way at a time; those first that were not acknowledged before."""
        left = self.waiting[: self.chance.randint(1, MOST)]
        on_their_way: dict[int, int] = {}
        with suppress(Disconnected), Client(self.flux.uri) as client:
            while left or on_their_way:
                while left and len(on_their_way) < AT_ONCE:
                    batch = left.pop(0)
                    on_their_way[client.post(self.submission(batch))] = batch
                    self.asked[batch] += 1
                if monotonic() >= moment:
                    break
                answer = client.receive(timeout=max(0.0, moment - monotonic()))
                if answer is not None:
                    self.acknowledge(on_their_way.pop(answer.matchtag), answer)

    def acknowledge(self, batch: int, answer: Message) -> None:
        error = answer.failure()
        assert error is None, error
        self.acknowledged[batch] = answer.read(Submitted).ids
        self.waiting.remove(batch)

    def strike(self) -> None:
        """Somewhere between the first moment after a start and a second later. The client stops listening a little
        before: what was acknowledged then it must ask for again."""
        begun, delay = monotonic(), self.chance.random() * self.chance.choice(MOMENTS)
        self.submit_until(begun + delay * self.chance.random())
        self.kill_at(begun + delay)

    def strike_the_newborn(self) -> None:
        """While it starts: it may have read its store, or not even opened it."""
        before = holder(self.lock)
        options = self.site.options(1, statedir="state", sets=SETS)
        child = self.site.popen("start", *options, "--detach", *self.options)
        wait_until(lambda: holder(self.lock) not in ("?", before))
        self.kill_at(monotonic() + self.chance.random() * STARTING)
        child.communicate(timeout=20)

    def kill_at(self, moment: float) -> None:
        wait_until(lambda: monotonic() >= moment)
        pid = int(holder(self.lock))
        self.flux.hang_up()
        self.flux.forget_descriptors()
        kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid))

    def rage(self) -> None:
        kills = 0
        while kills < KILLS:
            self.strike()
            kills += 1
            if kills < KILLS and self.chance.random() < 0.3:
                self.strike_the_newborn()
                kills += 1
            self.flux = self.start()

    def calm(self) -> None:
        """What is left is submitted, and all end."""
        while self.waiting:
            self.submit_until(monotonic() + 20)
        for _ in self.flux.client.wait_many(self.ids, timeout=120):
            pass

    @property
    def ids(self) -> list[int]:
        return [job for batch in sorted(self.acknowledged) for job in self.acknowledged[batch]]

    def ran(self) -> list[tuple[str, str]]:
        return [(value, job) for line in self.record.read_text().splitlines() for value, job in [line.split()]]


def survive(site: Site, *options: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201  shown when the test fails
    storm = Storm(site, seed, *options)
    storm.rage()
    before = len(storm.ran())
    storm.calm()
    print(f"{before} jobs had run when the storm was over")  # noqa: T201
    assert before < JOBS, "all was over before the storm"
    assert max(storm.asked.values()) > 1, "nothing had to be asked for again"
    ran = storm.ran()
    assert sorted(int(value) for value, _ in ran) == list(range(JOBS))
    assert {int(value): job for value, job in ran} == {value: encode_f58(job) for value, job in enumerate(storm.ids)}
    stats = storm.flux.client.call(JobStats(), JobStatsReply)
    assert (stats.inactive, stats.completed) == (JOBS, JOBS)
    shown = storm.flux.cli("jobs", "--stats-only").stdout
    assert f"{JOBS} completed" in shown


def test_each_of_many_jobs_runs_once_while_rank_0_is_killed_again_and_again(site: Site) -> None:
    survive(site)


def test_each_runs_once_also_with_the_jobs_in_postgresql(site: Site, postgresql: PostgresqlServer) -> None:
    survive(site, "--store", postgresql.url(postgresql.new_schema()))
