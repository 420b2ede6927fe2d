"""Submitting jobs in batches, printing their ids, and staying with them as far as options ask for it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

import click

from fluxlike.client.submission import BEFORE, note_accepted
from fluxlike.errors import FluxlikeError
from fluxlike_cli.output.ids import id_text

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike.protocol.jobs import Submit
    from fluxlike_cli.output.progress import Progress


def submit_and_follow(
    client: Client, messages: Iterable[Submit], given: dict[str, Any], *, total: int | None, raw: bool
) -> int:
    """Send the messages; gives the exit code. `total` is how many jobs they hold, if known.

    `given` holds the options of fluxlike_cli.options.staying, and label_io."""
    terminal = sys.stderr
    with logs(given["log"], given["log_stderr"]):
        ids: list[int] = []
        with progress_bar("submitted", total, given, terminal) as bar:
            for some in _acknowledged(client, messages, ids):
                if not (given["quiet"] or given["as_json"]):
                    bar.hide()
                    click.echo("\n".join(map(id_text, some)))
                bar.advance(len(some))
        if given["as_json"] and not given["quiet"]:
            _show_json(ids)
        sys.stdout.flush()
        if not (given["event"] or given["watch_output"] or given["wait_end"]):
            return 0
        with progress_bar("ended", len(ids), given, terminal) as bar:
            return _stay(client, ids, given, bar, raw)


def _acknowledged(client: Client, messages: Iterable[Submit], ids: list[int]) -> Iterator[list[int]]:
    """Ids of message after message, which `ids` gathers. An error carries a note of what was accepted before it."""
    try:
        for some in client.submit_messages(messages):
            ids += some
            yield some
    except FluxlikeError as error:
        note_accepted(error, ids, BEFORE)
        raise


def _stay(client: Client, ids: Sequence[int], given: dict[str, Any], bar: Progress, raw: bool) -> int:
    """What follows the submission; gives the exit code."""
    from fluxlike_cli import waiting

    quiet = given["quiet"]
    if given["event"]:
        waiting.wait_event(client, ids, given["event"])
    if given["watch_output"]:
        return waiting.watch(client, ids, label=given["label_io"], quiet=quiet, raw=raw, bar=bar)
    return waiting.wait(client, ids, quiet=quiet, bar=bar) if given["wait_end"] else 0


def progress_bar(verb: str, total: int | None, given: dict[str, Any], stream: TextIO) -> Progress:
    """One that `--progress` shows at once, `--jps` with a rate, and `--quiet` alone not at all."""
    from fluxlike_cli.output.progress import Progress

    silent = given["quiet"] and not given["progress"]
    return Progress(verb, total, wanted=given["progress"], rate=given["jps"], stream=None if silent else stream)


def _show_json(ids: Sequence[int]) -> None:
    from fluxlike_cli.output.jobs import id_json
    from fluxlike_cli.output.json import print_json

    print_json({"jobs": [id_json(job_id) for job_id in ids]})


@contextmanager
def logs(out: str | None, err: str | None) -> Iterator[None]:
    """What is printed goes to these files; errors to the first if they have none of their own."""
    with ExitStack() as stack:
        if out:
            file = stack.enter_context(open(out, "w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(file))
            if not err:
                stack.enter_context(redirect_stderr(file))
        if err:
            stack.enter_context(redirect_stderr(stack.enter_context(open(err, "w", encoding="utf-8"))))
        yield
