"""The tree of brokers as text, drawn with lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Tree = Mapping[str, Any]

FORK, LAST, PIPE, BLANK = "├─ ", "└─ ", "│  ", "   "
ASCII_FORK, ASCII_LAST, ASCII_PIPE = "|- ", "`- ", "|  "


def tree_lines(tree: Tree, label: Callable[[Tree], str], *, ascii_only: bool = False) -> Iterator[str]:
    """One line per broker: the root first, then each child with all that is below it."""
    fork, last, pipe = (ASCII_FORK, ASCII_LAST, ASCII_PIPE) if ascii_only else (FORK, LAST, PIPE)
    stack: list[tuple[Tree, str, str]] = [(tree, "", "")]
    while stack:
        node, lead, below = stack.pop()
        yield lead + label(node)
        children = node["children"]
        for at in range(len(children) - 1, -1, -1):
            final = at == len(children) - 1
            branch, line = (last, BLANK) if final else (fork, pipe)
            stack.append((children[at], below + branch, below + line))


def find(tree: Tree, rank: int) -> Tree | None:
    """The subtree whose root is `rank`."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node["rank"] == rank:
            return node
        stack.extend(node["children"])
    return None


def without_full(tree: Tree) -> Tree:
    """The tree less every subtree in which all is well; its root stays."""
    children = [without_full(child) for child in tree["children"] if child["status"] != "full"]
    return {**tree, "children": children}
