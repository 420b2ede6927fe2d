"""`fluxlike exec`: a command on many ranks at once, outside the queue."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from fluxlike_cli.context import connect
from fluxlike_cli.errors import complain
from fluxlike_cli.options.declare import option
from fluxlike_cli.output.streams import StreamWriter

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.idset import Idset
    from fluxlike.protocol.instance import ExecOutput
    from fluxlike.protocol.message import Message

NO_HOST = 68
"""Exit code for a rank that cannot be reached, as sysexits.h has it."""
CANNOT_EXECUTE = 126
NOT_FOUND = 127


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, metavar="COMMAND [ARGS]...")
@option("-r", "--rank", "ranks", default="all", metavar="IDSET|all", help="Where to run it; all by default.")
@option("-x", "--exclude", default="", metavar="IDSET", help="Where not to.")
@option("-l", "--label-io", "label", is_flag=True, help="Put `RANK: ` before each line.")
@option("-d", "--dir", "directory", default=None, help="Working directory; by default the present one.")
@option("-n", "--noinput", is_flag=True, help="Accepted, without effect: the command never gets input.")
@click.pass_context
def exec_(
    ctx: click.Context,
    command: tuple[str, ...],
    ranks: str,
    exclude: str,
    label: bool,
    directory: str | None,
    noinput: bool,
) -> None:
    """Run COMMAND on brokers' hosts at once, to look around. It takes no resources and waits for none.

    Exits with the largest exit code (128+n by signal n, 68 for a rank that is lost). Ctrl-C ends them all.

    \b
    Examples:
      fluxlike exec -l uptime
      fluxlike exec -r 1-3,7 -x 2 -- df -h /tmp
    """
    import os

    from fluxlike.config.environment import snapshot

    # Each broker puts its own address there.
    env = {name: value for name, value in snapshot().items() if name != "FLUXLIKE_URI"}
    with connect(ctx) as client:
        chosen = _chosen(client, ranks, exclude)
        # Leaving the block closes the connection, and remote commands end with it: Ctrl-C needs no more.
        code = _run(client, chosen, list(command), directory or os.getcwd(), env, label)
    ctx.exit(code)


def _chosen(client: Client, ranks: str, exclude: str) -> Idset:
    from fluxlike.errors import InvalidRequest
    from fluxlike.idset import Idset
    from fluxlike.protocol.instance import Uptime, UptimeReply

    # Every broker is a "broker"; only the root knows how many there are.
    size = client.call(Uptime(), UptimeReply, rank=0).size
    every = Idset.of(range(size))
    named = every if ranks == "all" else Idset.parse(ranks)
    if named - every:
        raise InvalidRequest(f"no rank {named - every} here; the instance has ranks {every}")
    chosen = named - Idset.parse(exclude)
    if not chosen:
        raise InvalidRequest("no rank is left to run on; see --rank and --exclude")
    return chosen


def _run(client: Client, ranks: Idset, command: list[str], directory: str, env: dict[str, str], label: bool) -> int:
    """Run it on every rank, show what it writes, and give the largest exit code."""
    from fluxlike.protocol.instance import ExecOutput, ExecRun

    request = ExecRun(command=command, cwd=directory, env=env)
    rank_of = {client.post(request, rank=rank, stream=True): rank for rank in ranks}
    run = RemoteRun(ranks, label)
    for message in _answers(client, set(rank_of)):
        rank, failure = rank_of[message.matchtag], message.failure()
        if failure is not None:
            run.fail(rank, str(failure), NO_HOST if failure.code == "host-unreachable" else 1)
        else:
            run.take(rank, message.read(ExecOutput))
    return run.finish()


def _answers(client: Client, tags: set[int]) -> Iterator[Message]:
    """What comes on these streams, errors included, until the last of each has come."""
    from fluxlike.client.core import is_end, is_last

    while tags:
        message = client.receive()
        assert message is not None  # without a timeout there is always a next one
        if is_last(message):
            tags.discard(message.matchtag)
        if not is_end(message):
            yield message


class RemoteRun:
    """What came from each rank so far: unfinished lines and exit codes."""

    def __init__(self, ranks: Iterable[int], label: bool) -> None:
        self._codes: dict[int, int | None] = dict.fromkeys(ranks)
        self._label = label
        self._writers = {
            "stdout": StreamWriter(sys.stdout.buffer),
            "stderr": StreamWriter(sys.stderr.buffer),
        }

    def take(self, rank: int, piece: ExecOutput) -> None:
        from fluxlike_cli.story import exit_code

        if piece.data:
            writer = self._writers["stderr" if piece.stream == "stderr" else "stdout"]
            writer.write(str(rank), piece.data, str(rank) if self._label else "")
            writer.flush()
        if piece.error:
            self.fail(rank, piece.error, _start_code(piece.error))
        elif piece.status >= 0:
            self._codes[rank] = exit_code(piece.status)

    def fail(self, rank: int, text: str, code: int) -> None:
        self._codes[rank] = code
        complain(f"rank {rank}: {text}")

    def finish(self) -> int:
        """The largest exit code; a rank whose stream closed without one has failed."""
        for writer in self._writers.values():
            writer.close()
        for rank in [rank for rank, code in self._codes.items() if code is None]:
            self.fail(rank, "ended without an exit status; see `fluxlike dmesg`", 1)
        return max(code or 0 for code in self._codes.values())


def _start_code(error: str) -> int:
    """As a shell would end when the command cannot be started."""
    return CANNOT_EXECUTE if "permission denied" in error.lower() else NOT_FOUND
