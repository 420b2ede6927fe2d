"""`fluxlike version`: ours, and of what matters to it."""

from __future__ import annotations

import click

from fluxlike_cli.options.declare import PlainHelp, option

DEPENDENCIES = {"zmq": "pyzmq", "msgpack": "msgpack", "sqlalchemy": "sqlalchemy"}
"""Name to show -> distribution."""


@click.command(cls=PlainHelp, epilog="\b\nExamples:\n  fluxlike version\n  fluxlike version --json | jq -r .fluxlike")
@option("--json", "as_json", is_flag=True, help="As one JSON object.")
def version(as_json: bool) -> None:
    """Print the versions of fluxlike, of Python and of the libraries it rests on."""
    versions = found()
    if as_json:
        from fluxlike_cli.output.json import print_json

        print_json(versions)
        return
    from fluxlike_cli.output.table import print_table

    print_table(("", ""), list(versions.items()))


def found() -> dict[str, str]:
    import platform
    from importlib import metadata

    from fluxlike import __version__

    versions = {"fluxlike": __version__, "python": platform.python_version()}
    for name, distribution in DEPENDENCIES.items():
        try:
            versions[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
