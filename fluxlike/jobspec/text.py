"""JSON and YAML texts of jobspecs, read into plain values. Kept apart because yaml is slow to import."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import yaml

from fluxlike.errors import InvalidJobspec


def read(text: str | bytes) -> object:
    """The one document in the text. Raises InvalidJobspec saying where the text goes wrong."""
    decoded = _decoded(text)
    if not decoded.lstrip().startswith("{"):
        return _read_yaml(decoded)
    try:
        return json.loads(decoded, object_pairs_hook=_unique)
    except RecursionError as error:
        raise InvalidJobspec("the text is nested too deeply") from error
    except ValueError as error:
        # YAML has maps in braces too; when it is neither, the JSON error is the useful one.
        try:
            return _read_yaml(decoded)
        except InvalidJobspec:
            raise InvalidJobspec(f"not JSON: {error}") from error


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidJobspec(f"the text is not UTF-8: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidJobspec(f"the key {twice[:60]!r} is given twice in the same map")
    return found


def _read_yaml(text: str) -> object:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise InvalidJobspec(f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InvalidJobspec("the text is nested too deeply") from error
    except (ValueError, LookupError) as error:  # from values that contradict an explicit tag
        raise InvalidJobspec(f"not YAML: {error}") from error


class _Loader(yaml.SafeLoader):
    """What JSON also knows: no dates, sets or binaries, into which an unquoted value would turn unasked."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise InvalidJobspec(f"the key {key.value[:60]!r} is given twice in the same map (line {line})")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_PLAIN = ("null", "bool", "int", "float", "str", "seq", "map", "merge")
_TAGS = tuple(f"tag:yaml.org,2002:{kind}" for kind in _PLAIN)

_Loader.yaml_constructors = {
    tag: constructor for tag, constructor in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in _TAGS
}
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag in _TAGS]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
