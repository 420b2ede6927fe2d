"""`fluxlike completion`: what a shell needs to complete our command lines."""

from __future__ import annotations

import click

from fluxlike_cli.options.declare import PlainHelp

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FLUXLIKE_COMPLETE"


@click.command(cls=PlainHelp)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands and options with the Tab key.

    \b
    Examples:
      eval "$(fluxlike completion bash)"                                 now; in ~/.bashrc for ever
      fluxlike completion zsh > ~/.zfunc/_fluxlike                       with ~/.zfunc in fpath
      fluxlike completion fish > ~/.config/fish/completions/fluxlike.fish
    """
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    class Bash(BashComplete):
        @staticmethod
        def _check_version() -> None:
            """The script is for the shell that will read it, which need not be the bash found here."""

    kinds: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}
    root = ctx.find_root().command
    click.echo(kinds[shell](root, {}, "fluxlike", VARIABLE).source())
