"""What the documents show is there: files, headings, functions, commands, options, make targets."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from fluxlike.config.load import load
from fluxlike_cli.main import COMMANDS, program

ROOT = Path(__file__).parents[3]

WRITTEN = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *(ROOT / room / "README.md" for room in ("fluxlike", "broker", "cli", "examples")),
]
PAGES = sorted(str(path.relative_to(ROOT)) for path in WRITTEN)

REFERENCE = ("docs/commands.md", "docs/settings.md")


@pytest.mark.parametrize("path", PAGES)
def test_every_link_leads_somewhere(page: Callable[[str], Any], path: str) -> None:
    here = page(path)
    for link in here.links():
        file, _, anchor = link.partition("#")
        assert "://" not in link, f"{link} leads out of the repository"
        target = (here.path.parent / file).resolve() if file else here.path
        assert target.exists(), link
        if anchor:
            assert anchor in page(str(target.relative_to(ROOT))).anchors(), link


@pytest.mark.parametrize("path", PAGES)
def test_no_page_names_this_machine(page: Callable[[str], Any], path: str) -> None:
    for word in ("/root/", "/work/", "/home/", "localhost:"):
        allowed = word == "/home/" and path.startswith("docs/rfc/")  # an example of a working directory
        assert allowed or word not in page(path).text


# -- commands -----------------------------------------------------------------------------------------------


def commands_in(text: str) -> Iterator[list[str]]:
    """The `fluxlike` command lines in a piece of shell."""
    for line in text.splitlines():
        words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set("();<>|&"):
                if "fluxlike" in command:
                    yield command[command.index("fluxlike") + 1 :]
                command = []
            else:
                command.append(word)


def check(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Parse the words as the program would; raises click's errors for what it does not know."""
    ctx = click.Context(command, info_name=command.name, parent=parent)
    _, rest, _ = command.make_parser(ctx).parse_args(list(words))
    if isinstance(command, click.Group) and rest:
        found = command.get_command(ctx, rest[0])
        assert found is not None, f"there is no command {rest[0]}"
        check(found, rest[1:], ctx)


SHOWN = [
    *(path for path in PAGES if path not in REFERENCE and not path.startswith("docs/rfc")),
    "examples/demo.sh",
    "examples/ensemble.sh",
]


@pytest.mark.parametrize("path", SHOWN)
def test_every_command_that_is_shown_exists(page: Callable[[str], Any], path: str) -> None:
    here = page(path)
    pieces = [*here.code("sh"), *(text for text in here.quoted() if text.startswith("fluxlike "))]
    if not path.endswith(".md"):
        pieces = re.findall(r"\bfluxlike \w+[^\n\\;|]*", here.text)
    for piece in pieces:
        for words in commands_in(piece.replace('"', "").replace("'", "")):
            if words != ["COMMAND", "--help"]:
                check(program(), words)


def test_readme_shows_what_can_be_checked(page: Callable[[str], Any]) -> None:
    shown = [words for code in page("README.md").code("sh") for words in commands_in(code)]
    assert [words[0] for words in shown] == ["start", "run", "submit", "shutdown"]


def test_an_option_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(click.UsageError):
        check(program(), ["submit", "--no-such-option", "true"])


def test_readme_lists_every_command(page: Callable[[str], Any]) -> None:
    rows = [cells[0] for cells in page("README.md").tables("command", "")]
    listed = [name for cell in rows for name in re.findall(r"`fluxlike (\S+)`", cell)]
    assert listed == list(COMMANDS)


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "examples/README.md"])
def test_every_make_target_that_is_shown_exists(page: Callable[[str], Any], path: str) -> None:
    here = page(path)
    text = "\n".join([*here.code("sh"), *here.quoted()])
    wanted = set(re.findall(r"^make ([a-z]+)", text, flags=re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert wanted
    assert wanted <= set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))


# -- code ---------------------------------------------------------------------------------------------------


def names_in(path: Path) -> set[str]:
    """Functions, classes and methods of a module."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (inner for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


def test_every_step_of_the_walk_is_in_its_file(page: Callable[[str], Any]) -> None:
    here = page("docs/architecture.md")
    rows = here.tables("file", "function", "what happens")
    assert len(rows) > 40
    for files, functions, _ in rows:
        paths = [(here.path.parent / link).resolve() for link in re.findall(r"\(([^)]+)\)", files)]
        known = {name for path in paths for name in names_in(path)}
        for name in re.findall(r"`([^`]+)`", functions):
            assert name in known, f"{name} is not in {files}"


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("fluxlike/README.md", ["fluxlike"]),
        (
            "broker/README.md",
            ["broker/fluxlike_broker", "broker/fluxlike_broker/modules/job_manager", "broker/fluxlike_executor"],
        ),
        ("cli/README.md", ["cli/fluxlike_cli", "cli/fluxlike_cli/commands"]),
    ],
)
def test_the_readme_of_a_room_names_only_what_is_there(
    page: Callable[[str], Any], path: str, places: list[str]
) -> None:
    here = page(path)
    names = re.findall(r"^([a-z_]+(?:\.py|/)) ", "\n".join(here.code()), flags=re.MULTILINE)
    names += [name for name in here.quoted() if re.fullmatch(r"[a-z_/]+(\.py|/)", name)]
    assert names
    for name in names:
        assert any((ROOT / place / name).exists() for place in [*places, "."]), name


# -- reference pages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", REFERENCE)
def test_reference_page_is_what_the_code_says(page: Callable[[str], Any], path: str) -> None:
    spec = importlib.util.spec_from_file_location("reference_pages", ROOT / "tools" / "reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert page(path).text == tool.PAGES[Path(path).name](), "run `make docs`"


def test_example_of_a_file_of_hosts_is_taken(page: Callable[[str], Any], tmp_path: Path) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(page("docs/settings.md").code("toml")[0])
    assert [entry.host for entry in load([str(file)], []).bootstrap.hosts] == ["head", "node[1-16]"]
