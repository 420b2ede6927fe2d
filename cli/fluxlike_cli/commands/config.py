"""`fluxlike config`: settings before an instance is started with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fluxlike_cli.options.declare import option, together

if TYPE_CHECKING:
    from fluxlike.config.settings import Settings

sources = together(
    option("--conf", multiple=True, metavar="FILE", help="A TOML file or a directory of them; may be repeated."),
    option("-S", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one setting."),
)


@click.group()
def config() -> None:
    """Look at settings, and check files of them, before `fluxlike start` reads them.

    \b
    Examples:
      fluxlike config check site.toml
      fluxlike config get tbon.topo
    """


@config.command()
@click.argument("key", required=False)
@sources
@option("--json", "as_json", is_flag=True, help="All settings as JSON.")
def get(key: str | None, conf: tuple[str, ...], overrides: tuple[str, ...], as_json: bool) -> None:
    """Print settings: those that `fluxlike start` with the same --conf and -S would use.

    Of a running instance, `fluxlike getattr` tells them.

    \b
    Examples:
      fluxlike config get                        all of them, with what they are for
      fluxlike config get --conf=site.toml exec.kill-timeout
    """
    from fluxlike.config.registry import KEYS, values
    from fluxlike.errors import NotFound
    from fluxlike_cli.group import nearest
    from fluxlike_cli.output.json import print_json
    from fluxlike_cli.output.table import print_table

    settings = _load(conf, overrides)
    found = values(settings)
    if key is not None and key not in found:
        raise NotFound(f"there is no setting {key!r}.{nearest(key, found)} `fluxlike config get` lists all.")
    if as_json:
        print_json(found if key is None else {key: found[key]})
    elif key is not None:
        click.echo(found[key])
    else:
        print_table(("KEY", "VALUE", "WHAT FOR"), [(name, found[name] or "-", KEYS[name].help) for name in found])


@config.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@option("-S", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one setting.")
@option("-q", "--quiet", is_flag=True, help="Print nothing if all is well.")
def check(files: tuple[str, ...], overrides: tuple[str, ...], quiet: bool) -> None:
    """Check files of settings: exits with 1 and the reason if an instance would refuse them.

    \b
    Examples:
      fluxlike config check site.toml
      fluxlike config check conf.d -S tbon.topo=kary:4
    """
    if not files and not overrides:
        raise click.UsageError("name a file, or a setting with -S")
    _load(files, overrides)
    if not quiet:
        click.echo(f"{', '.join(files) or 'the settings'}: good")


def _load(files: tuple[str, ...], overrides: tuple[str, ...]) -> Settings:
    from fluxlike.config.load import load

    return load(files, overrides)
