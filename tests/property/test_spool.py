"""Pieces repeated, torn, out of order, and crashes in between: the spool holds each node's stream once, in order."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fluxlike_broker.modules.output.spool import HEADER, JobSpool, read

STREAM = bytes(range(256)) * 4
"""What every node would write: where a piece comes from shows in its bytes."""

NODES = st.integers(0, 2)
ATTEMPTS = st.sampled_from([0, 1, 127])


class SpoolHoldsEachStreamOnce(RuleBasedStateMachine):
    """`safe` is the twin: how much of each node's output was acknowledged, and so may never be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "job")
        self.spool = JobSpool(self.path)
        self.safe: dict[tuple[int, int], int] = defaultdict(int)

    def teardown(self) -> None:
        self.spool.close()
        self.folder.cleanup()

    @rule(node=NODES, attempt=ATTEMPTS, back=st.integers(-4, 8), length=st.integers(0, 12), err=st.booleans())
    def piece(self, node: int, attempt: int, back: int, length: int, err: bool) -> None:
        """A piece that begins a bit before where the node stands, there, or beyond it."""
        have = self.safe[node, attempt]
        offset = max(0, have - back)
        data = STREAM[offset : offset + length]
        told = self.spool.write(node, attempt, offset, 10 + node, ("stdout", "stderr")[err], data)
        expected = have if offset > have else max(have, offset + len(data))
        assert told == expected
        self.safe[node, attempt] = expected

    @rule()
    def restart(self) -> None:
        self.spool.close()
        self.spool = JobSpool(self.path)

    @precondition(lambda self: os.path.exists(self.path))
    @rule(torn=st.binary(min_size=1, max_size=HEADER.size - 1))
    def crash_while_writing_a_header(self, torn: bytes) -> None:
        self._crash(torn)

    @precondition(lambda self: os.path.exists(self.path))
    @rule(node=NODES, length=st.integers(1, 50), part=st.integers(0))
    def crash_while_writing_data(self, node: int, length: int, part: int) -> None:
        header = HEADER.pack(node, 10 + node, 0, self.safe[node, 0], length)
        self._crash(header + STREAM[: part % length])

    def _crash(self, torn: bytes) -> None:
        self.spool.close()
        with open(self.path, "ab") as file:
            file.write(torn)
        self.spool = JobSpool(self.path)

    def records(self) -> list[tuple[int, int, int, bytes]]:
        """(node, attempt, offset, data), read from the file itself."""
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as file:
            raw = file.read()
        found, at = [], 0
        while at < len(raw):
            node, _task, mark, offset, length = HEADER.unpack_from(raw, at)
            at += HEADER.size + length
            found.append((node, mark >> 1, offset, raw[at - length : at]))
        assert at == len(raw) == self.spool.size
        return found

    @invariant()
    def each_stream_is_there_once_and_in_order(self) -> None:
        streams: dict[tuple[int, int], bytes] = defaultdict(bytes)
        for node, attempt, offset, data in self.records():
            assert offset == len(streams[node, attempt])
            streams[node, attempt] += data
        assert dict(streams) == {key: STREAM[:size] for key, size in self.safe.items() if size}

    @invariant()
    def reading_in_any_portions_gives_the_same(self) -> None:
        whole, end = read(self.path, 0, 1 << 20)
        assert [data for *_, data in whole] == [data for *_, data in self.records()]
        portions, offset = [], 0
        while True:
            some, offset = read(self.path, offset, 7)
            if not some:
                break
            portions += some
        assert (portions, offset) == (whole, end)


TestSpool = SpoolHoldsEachStreamOnce.TestCase
TestSpool.settings = settings(max_examples=50, stateful_step_count=30)
