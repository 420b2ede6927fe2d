"""`fluxlike overlay`: the tree of brokers and its health."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fluxlike_cli.commands import parameters
from fluxlike_cli.context import connect
from fluxlike_cli.options.declare import option

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client
    from fluxlike_cli.output.tree import Tree

STATES = ("full", "partial", "degraded", "lost", "offline")

POLL = 0.1
"""Seconds between two looks while waiting for a state: shorter than a person notices, cheap for the root."""


@click.group()
def overlay() -> None:
    """Look at the tree of brokers.

    \b
    Example:
      fluxlike overlay status
    """


@overlay.command()
@option(
    "-r",
    "--rank",
    type=click.IntRange(min=0),
    default=0,
    metavar="RANK",
    help="Only the subtree of this rank.",
)
@option("-v", "--verbose", is_flag=True, help="Show how long each broker has been in its state.")
@option("--summary", is_flag=True, help="Only the line of the root of the (sub)tree.")
@option("--down", is_flag=True, help="Leave out what is full.")
@option("-H", "--highlight", default="", metavar="RANK|HOST", help="Mark these brokers.")
@option("-w", "--wait", "state", type=click.Choice(STATES), default=None, help="Wait until the (sub)tree is so.")
@option("-t", "--timeout", type=parameters.timeout, default=None, help="Give up waiting after this long.")
@option("--json", "as_json", is_flag=True, help="The tree as JSON.")
@click.pass_context
def status(
    ctx: click.Context,
    rank: int,
    verbose: bool,
    summary: bool,
    down: bool,
    highlight: str,
    state: str | None,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Show the health of the tree of brokers.

    full: all below are there; partial: some never came; degraded: some were lost; lost, offline: itself.

    \b
    Examples:
      fluxlike overlay status
      fluxlike overlay status --summary --wait full --timeout 30s
    """
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.tree import tree_lines, without_full

    with connect(ctx) as client:
        tree = _wait_for(client, rank, state, timeout)
    if summary:
        tree = {**tree, "children": []}
    elif down:
        tree = without_full(tree)
    if as_json:
        print_json(tree)
        return
    label = _Label(verbose, highlight)
    click.echo("\n".join(tree_lines(tree, label, ascii_only=not _draws_lines())))


def _wait_for(client: Client, rank: int, state: str | None, timeout: float | None) -> Tree:
    from fluxlike.errors import NotFound, TimedOut
    from fluxlike.protocol.instance import OverlayStatus, OverlayTree
    from fluxlike_cli.commands.deadline import Deadline
    from fluxlike_cli.output.tree import find

    deadline = Deadline(timeout)
    while True:
        # Only the root knows them all; the nearest broker may be any.
        whole = client.call(OverlayStatus(), OverlayTree, rank=0, timeout=_patience(deadline.remaining())).tree
        tree = find(whole, rank)
        if tree is None:
            raise NotFound(f"no rank {rank} in this instance; `fluxlike overlay status` shows all")
        if state is None or tree["status"] == state:
            return tree
        if deadline.passed:
            raise TimedOut(f"rank {rank} is {tree['status']}, not {state}, after {timeout:g} s")
        # Nothing was asked, so nothing comes; but a broker that goes away is noticed at once.
        client.receive(timeout=POLL)


def _patience(remaining: float | None) -> float | None:
    """For one look: it is worth its answer even when the time for waiting is over."""
    return None if remaining is None else max(remaining, 1.0)


class _Label:
    def __init__(self, verbose: bool, highlight: str) -> None:
        self._verbose = verbose
        self._marked = _targets(highlight)
        self._now = 0.0
        if verbose:
            from fluxlike.clock import SystemClock

            self._now = SystemClock().now()

    def __call__(self, node: Tree) -> str:
        text = f"{node['rank']} {node['host']}: {node['status']}"
        if node["torpid"]:
            text += " torpid"
        if self._verbose and node["since"]:
            from fluxlike_cli.output.times import elapsed

            text += f" for {elapsed(self._now - node['since'])}"
        if node["rank"] in self._marked or node["host"] in self._marked:
            text = click.style(f"{text} <--", bold=True)
        return text


def _targets(text: str) -> set[Any]:
    """Ranks or hosts, as they were given."""
    if not text:
        return set()
    from fluxlike.hostlist import Hostlist
    from fluxlike.idset import Idset

    if text.lstrip("[")[:1].isdecimal():
        return set(Idset.parse(text))
    return set(Hostlist.parse(text))


def _draws_lines() -> bool:
    try:
        "├│└─".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
