"""Measures an installed fluxlike against its budgets and prints a table. See docs/performance.md.

make bench                                  builds the wheel, installs it, runs this
PATH/bin/python tests/bench/run.py          measures the environment it runs in
python tests/bench/run.py --venv PATH       measures another one

Peers that are missing are installed: HyperQueue into .venv-peers, Slurm and PostgreSQL with apt-get by root.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from environment import Installation
    from report import Row

QUESTIONS = (
    "startup",
    "cli_latency",
    "job_latency",
    "rpc",
    "memory",
    "executor",
    "throughput",
    "null_executor",
    "submit_rate",
    "flat_cost",
    "queued_latency",
    "postgres_store",
    "million_done",
    "million_pending",
)


def main() -> int:
    options = read(sys.argv[1:])
    move_into(options.venv)
    # So that what was started is ended, as it is after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    import plot
    import report

    # Short: a unix socket's path ends at 107 bytes.
    with TemporaryDirectory(prefix="fl", dir=options.scratch, ignore_cleanup_errors=True) as scratch:
        facts = report.machine(scratch)
        rows = list(ask(chosen(options), scratch, options.quick))
    systems = plot.bars(rows)
    if options.plot and systems:
        with open(options.plot, "w", encoding="utf-8") as file:
            file.write(plot.svg(systems, facts, plot.doubts(rows)))
    if options.json:
        sys.stdout.write(report.document(rows, facts) + "\n")
    else:
        machine = "\n".join(f"{name}: {value}" for name, value in facts.items())
        parts = [report.table(rows), plot.systems_table(systems) if systems else "", report.summary(rows), machine]
        sys.stdout.write("\n\n".join(filter(None, parts)) + "\n")
    return 1 if options.strict and any(row.met is False for row in rows) else 0


def read(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure an installed fluxlike against its budgets.")
    parser.add_argument("only", nargs="*", metavar="QUESTION", help=f"{', '.join(QUESTIONS)}; none named: all")
    parser.add_argument("--venv", metavar="PATH", help="environment to measure, instead of the one that runs this")
    parser.add_argument("--scratch", metavar="DIR", help="where instances live; its disk is the one that counts")
    parser.add_argument(
        "--without", action="append", default=[], metavar="QUESTION", help="leave it out; may be repeated"
    )
    parser.add_argument("--plot", metavar="PATH", help="draw jobs a second by system into an SVG file")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")
    parser.add_argument("--quick", action="store_true", help="few rounds: a look, not a verdict")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a budget is missed")
    options = parser.parse_args(words)
    unknown = {*options.only, *options.without} - set(QUESTIONS)
    if unknown:
        parser.error(f"there is no question {', '.join(sorted(unknown))}; there are {', '.join(QUESTIONS)}")
    return options


def chosen(options: argparse.Namespace) -> list[str]:
    return [name for name in options.only or QUESTIONS if name not in options.without]


def move_into(venv: str | None) -> None:
    """Go on as a process of the environment that is measured, without settings that would change Python."""
    python = os.path.join(os.path.abspath(venv or sys.prefix), "bin", "python")
    inside = venv is None or os.path.realpath(venv) == os.path.realpath(sys.prefix)
    unwanted = [name for name in os.environ if name.startswith("PYTHON")]
    if inside and not unwanted:
        return
    for name in unwanted:
        del os.environ[name]
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])


def ask(questions: list[str], scratch: str, quick: bool) -> Iterator[Row]:
    from environment import Installation

    installation = Installation(scratch)
    if not installation.is_wheel:
        sys.stderr.write("bench: fluxlike is not installed in this environment but runs from a checkout\n")
    for name in questions:
        sys.stderr.write(f"bench: {name}\n")
        yield from answers(name, installation, quick)


def answers(question: str, installation: Installation, quick: bool) -> Iterator[Row]:
    """The rows of a question; if it cannot be answered, one that says why."""
    from importlib import import_module

    from peers.peer import Unavailable
    from report import Unanswered

    module = import_module(question)
    measure: Callable[[Installation, bool], Iterator[Row]] = module.measure
    try:
        yield from measure(installation, quick)
    except Unavailable as why:
        yield Unanswered(f"{question}: {module.__doc__}", str(why))


if __name__ == "__main__":
    sys.exit(main())
