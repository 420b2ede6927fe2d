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
    from fluxlike_cli.output.progress import Progress


def submit_and_follow(
    client: Client, batches: Iterable[list[int]], given: dict[str, Any], *, total: int | None, raw: bool, tasks: int = 0
) -> int:
    """Print ids as `batches` submits and gives them, and stay as asked; gives the exit code.

    `total` is how many jobs they are, if known; `tasks` how many each has as an array.

    `given` holds the options of fluxlike_cli.options.staying, and label_io."""
    terminal = sys.stderr
    with logs(given["log"], given["log_stderr"]):
        ids: list[int] = []
        with progress_bar("submitted", total, given, terminal) as bar:
            for some in _acknowledged(batches, ids):
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
            return _stay(client, ids, given, bar, raw and not tasks, tasks)


def _acknowledged(batches: Iterable[list[int]], ids: list[int]) -> Iterator[list[int]]:
    """Batch after batch, which `ids` gathers. An error carries a note of what was accepted before it."""
    try:
        for some in batches:
            ids += some
            yield some
    except FluxlikeError as error:
        note_accepted(error, ids, BEFORE)
        raise


def _stay(client: Client, ids: Sequence[int], given: dict[str, Any], bar: Progress, raw: bool, tasks: int) -> int:
    """What follows the submission; gives the exit code."""
    from fluxlike_cli import waiting
    from fluxlike_cli.targets import outputs_of

    quiet = given["quiet"]
    if given["event"]:
        waiting.wait_event(client, ids, given["event"])
    if given["watch_output"]:
        outputs = [output for job_id in ids for output in outputs_of(job_id, tasks)]
        return waiting.watch(client, ids, outputs, label=given["label_io"], quiet=quiet, raw=raw, bar=bar)
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
