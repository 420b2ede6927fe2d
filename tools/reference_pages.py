"""Writes docs/commands.md and docs/settings.md from the commands and settings themselves. Run by `make docs`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fluxlike.config import settings
from fluxlike.config.registry import KEYS
from fluxlike.config.settings import Settings
from fluxlike_cli.main import COMMANDS, program

NOTE = "Written by `make docs`, not by hand; a test compares it with the code."


def commands_page() -> str:
    """Every command with its options and examples."""
    root = program()
    lines = ["# Commands", "", NOTE, "", "| command | |", "|---|---|"]
    lines += [f"| [{name}](#fluxlike-{name}) | {text} |" for name, (_, text) in COMMANDS.items()]
    lines += ["", "Before the command: `--uri URI` names an instance other than `FLUXLIKE_URI`; `--version`; `--help`."]
    with click.Context(root, info_name="fluxlike") as ctx:
        for name in root.list_commands(ctx):
            command = root.get_command(ctx, name)
            assert command is not None
            lines += _command(command, name, ctx, 2)
    return "\n".join(lines) + "\n"


def _command(command: click.Command, name: str, parent: click.Context, level: int) -> Iterator[str]:
    ctx = click.Context(command, info_name=name, parent=parent)
    pieces = [piece for piece in command.collect_usage_pieces(ctx) if not piece.startswith("[OPTIONS]")]
    yield from ("", f"{'#' * level} {ctx.command_path}", "")
    yield f"`{' '.join([ctx.command_path, '[OPTIONS]', *pieces])}`"
    yield from _prose(command.help or "")
    yield from _options(command)
    yield from _prose(command.epilog or "")
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None
            yield from _command(found, below, ctx, level + 1)


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those that click is told to leave as they are become blocks of code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            words = paragraph.removeprefix("\b").strip("\n").splitlines()
            if words and words[0].rstrip(":") in ("Example", "Examples"):
                words = inspect.cleandoc("\n".join(words[1:])).splitlines()
            yield from ("", "```text", *(line.rstrip() for line in words), "```")
        elif paragraph:
            yield from ("", " ".join(paragraph.split()))


def _options(command: click.Command) -> Iterator[str]:
    options = [param for param in command.params if isinstance(param, click.Option)]
    if options:
        yield from ("", "| option | meaning |", "|---|---|")
        yield from (f"| {_names(option)} | {_cell(_meaning(option))} |" for option in options)


def _names(option: click.Option) -> str:
    names = [f"`{name}`" for name in option.opts]
    value = "" if option.is_flag or option.count else option.metavar or _kind(option.type)
    return _cell(", ".join(names) + (f" `{value}`" if value else ""))


def _kind(kind: Any) -> str:
    return "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name.upper()


def _meaning(option: click.Option) -> str:
    shown = f"  [default: {option.default}]" if option.show_default else ""
    return ((option.help or "") + shown).strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


HOSTS = """
## Several hosts

A file that all hosts have, and a key that they share (`fluxlike keygen curve.cert`), join them into one instance. Each
host runs `fluxlike start --conf FILE`; its rank is its place in the list, found by its name or given with `--rank`.
The program to run is given on rank 0; the other ranks wait for work.

```toml
[bootstrap]
curve_cert = "/etc/fluxlike/curve.cert"

[[bootstrap.hosts]]
host = "head"
bind = "tcp://eth0:8050"

[[bootstrap.hosts]]
host = "node[1-16]"
```

`bind` is where a host listens and `connect` where others reach it. Hosts without them use the defaults above, in which
`%h` stands for the host and `%p` for the port.
"""

POSTGRESQL = """
## Jobs in PostgreSQL

`fluxlike start --statedir DIR --store postgresql+psycopg://USER@HOST/DATABASE` keeps jobs in a database; `store.url`
in a file does the same. It needs the driver (`pip install 'psycopg[binary]'`) and a database in which the user may
create tables. The tables are made at the first start. `?options=-csearch_path%3DNAME` chooses a schema, so that
several instances can share a database. Other connection parameters of libpq go there too: `sslmode`, `host` for the
directory of a unix socket.

- Leave the password out of the URL: command lines can be read by others. libpq finds it in `~/.pgpass`. A URL in a
  file that only you can read may have one; it is never shown or logged. Write `@` in it as `%40`.
- One broker at a time writes to a store. Another that tries is told which process has it, after five seconds in which
  a killed one would have let go.
- Connect to the server itself, or through a pooler that keeps sessions. The lock that guards the store belongs to a
  session.
- A restart needs both, the state directory and the database. The directory has keys, the output of jobs, and the way
  back to tasks that still run. With a new directory and the old database all jobs are there; output of earlier ones
  is not, and jobs that were running count as lost. A directory remembers its store, and a start without it is
  refused.
- A server that goes away is an outage: new jobs are refused with the reason, running ones go on, and it ends by
  itself. At the start the server must be there.
- Commits are synchronous whatever the server's default is. `fsync = off` in the server is warned of.
"""


def settings_page() -> str:
    """Every key of `-S` and of configuration files."""
    lines = [
        "# Settings",
        "",
        NOTE,
        "",
        "`fluxlike start -S KEY=VALUE` changes one; `--conf FILE` reads TOML, in which the part before the dot is the",
        "table. Durations are seconds, or text such as `1.5m` or `inf`. `-S` wins over files, and later ones win.",
        "",
        "| key | default | meaning |",
        "|---|---|---|",
    ]
    reasons = _reasons()
    defaults = Settings()
    for name, key in KEYS.items():
        reason = reasons[type(getattr(defaults, key.section)).__name__, key.field]
        shown = key.value_in(defaults)
        lines.append(f"| `{name}` | {f'`{shown}`' if shown else ''} | {_cell(reason)} |")
    return "\n".join(lines) + "\n" + HOSTS + POSTGRESQL


def _reasons() -> dict[tuple[str, str], str]:
    """(class, field) -> what stands below the field. Python keeps no docstrings of fields; the source has them."""
    found: dict[tuple[str, str], str] = {}
    for node in ast.parse(inspect.getsource(settings)).body:
        if isinstance(node, ast.ClassDef):
            for field, text in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    assert isinstance(field.target, ast.Name)
                    found[node.name, field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return found


PAGES = {"commands.md": commands_page, "settings.md": settings_page}


def main(directory: str) -> None:
    for name, page in PAGES.items():
        Path(directory, name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
