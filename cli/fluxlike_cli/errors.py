"""What an error prints and which status the process then ends with: the one table of the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from fluxlike.errors import FluxlikeError

if TYPE_CHECKING:
    from fluxlike.protocol.jobs import JobsTouched

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""

EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (click.UsageError, USAGE),
    (click.ClickException, FAILURE),
    (FluxlikeError, FAILURE),
    (click.Abort, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (OSError, FAILURE),
)
"""First match decides. What is not listed is a defect of ours and keeps its traceback."""

EXPECTED = tuple(kind for kind, _ in EXIT_CODES)


def exit_code(error: BaseException) -> int:
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def report(error: BaseException) -> None:
    """Tell on standard error what went wrong. An interrupt and a closed pipe need no words."""
    if isinstance(error, click.ClickException):
        error.show()
    elif isinstance(error, BrokenPipeError):
        silence()
    elif isinstance(error, OSError):
        parts = (error.filename, error.strerror or str(error))
        complain(": ".join(str(part) for part in parts if part))
    elif isinstance(error, FluxlikeError):
        for text in (str(error), *getattr(error, "__notes__", ())):
            complain(text)


def complain(text: str) -> None:
    click.echo(f"fluxlike: {text}", err=True)


def report_untouched(touched: JobsTouched, names: Mapping[int, str]) -> None:
    """A line for each job that could not be reached, by the name its user gave it."""
    from fluxlike_cli.output.ids import id_text

    for number, _, text in touched.errors:
        name = names.get(number) or id_text(number)
        complain(text if name in text else f"{name}: {text}")


def silence() -> None:
    """Send standard output nowhere, so that the flush at exit does not fail on a reader that is gone."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
