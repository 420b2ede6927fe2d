"""What the global options hold, and the connection they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fluxlike.client.blocking import Client


class Globals:
    """The options before the command's name; kept as `ctx.obj`."""

    __slots__ = ("uri",)

    def __init__(self, uri: str | None = None) -> None:
        self.uri = uri
        """The instance to talk to; None: the one that FLUXLIKE_URI names."""


def connect(ctx: click.Context) -> Client:
    """A connection to the instance the user means, for a `with` block. ConfigError if none is named."""
    from fluxlike.client.blocking import Client

    settings = ctx.find_object(Globals)
    return Client(settings.uri if settings is not None else None)
