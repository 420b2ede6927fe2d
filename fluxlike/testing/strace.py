"""What `strace -f -y -xx` saw of a store: was everything on disk before anybody was told of it?

Lines are in the order in which the tracer saw the calls begin and end. Only that order counts here, not the times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

CALLS = ("pwrite64", "fdatasync", "fsync", "sendto", "sendmsg", "write", "writev")

OPTIONS = [
    "-f",
    "-y",
    "-xx",
    "-s",
    "65536",
    "-ttt",
    "--seccomp-bpf",
    "-e",
    "signal=none",
    "-e",
    f"trace={','.join(CALLS)}",
]
"""Paths of descriptors, and all that was written, as hexadecimal numbers."""

WAL = "-wal"

_LINE = re.compile(r"(\d+) +\d+\.\d+ (.*)")
_UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
_CALL = re.compile(r"(\w+)\(\d+<([^>]*)>(.*)\) += (-?\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Call:
    """A system call: `begun` and `ended` are line numbers."""

    __slots__ = ("begun", "data", "ended", "name", "path", "result")

    def __init__(self, name: str, path: str, data: bytes, result: int, begun: int, ended: int) -> None:
        self.name = name
        self.path = path
        self.data = data
        self.result = result
        self.begun = begun
        self.ended = ended


def calls(lines: Iterable[str]) -> list[Call]:
    """The calls that came to an end, in the order in which they did."""
    begun: dict[str, tuple[int, str]] = {}
    found: list[Call] = []
    for number, line in enumerate(lines):
        parts = _LINE.match(line)
        if parts is None:
            continue
        thread, text = parts.groups()
        if text.endswith(_UNFINISHED):
            begun[thread] = (number, text.removesuffix(_UNFINISHED))
            continue
        start = number
        resumed = _RESUMED.match(text)
        if resumed is not None:
            start, head = begun.pop(thread, (number, ""))
            text = head + resumed[2]
        call = _CALL.match(text)
        if call is not None:
            name, path, arguments, result = call.groups()
            data = b"".join(map(_plain, _TEXT.findall(arguments)))
            found.append(Call(name, _plain(path).decode(errors="replace"), data, int(result), start, number))
    return found


def _plain(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()


def told_too_early(seen: list[Call], replies: Mapping[bytes, bytes]) -> dict[bytes, str]:
    """`replies`: what the store must hold -> what the reply that tells of it holds. Those that came before their time,
    with the reason; what neither was written nor told of is also a fault, of the trace if not of the store."""
    faults = {row: _fault(seen, row, reply) for row, reply in replies.items()}
    return {row: fault for row, fault in faults.items() if fault}


def _fault(seen: list[Call], row: bytes, reply: bytes) -> str:
    told = [call.begun for call in seen if not _is_of_wal(call) and reply in call.data]
    if not told:
        return "the reply was not seen"
    written = [call for call in seen if _is_of_wal(call) and row in call.data]
    if not written:
        return "the row was not seen"
    before = [call for call in written if call.ended < told[0]]
    if not before:
        return "the reply came before the row was written"
    synced = [call for call in seen if call.name in ("fdatasync", "fsync") and call.path == before[0].path]
    if not any(before[0].ended < call.begun and call.ended < told[0] and call.result == 0 for call in synced):
        return "the reply came before the row was on disk"
    return ""


def _is_of_wal(call: Call) -> bool:
    return call.path.endswith(WAL)
