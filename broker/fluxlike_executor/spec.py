"""What a job's tasks are to run, prepared once per digest: a thousand jobs of one spec share the work."""

from __future__ import annotations

from typing import Any

from fluxlike_executor.templates import differs_by_node, has_tags
from fluxlike_executor.wire import ProtocolError

KEPT = 256
"""Specs remembered, those of the last messages; the broker counts on the last 128."""

FLEETING = "-"
"""How digests of specs begin that are for their message alone: no job comes back to them."""
"""Prepared specs that stay in memory. A spec is a few kilobytes, mostly its environment."""

DEFAULT_PATH = b"/usr/local/bin:/usr/bin:/bin"


def encoded(text: str) -> bytes:
    """Text as the system wants it, whatever the locale of the executor is."""
    return text.encode("utf-8", "surrogateescape")


class Spec:
    __slots__ = (
        "append",
        "array",
        "command",
        "command_tags",
        "cwd",
        "environment",
        "environment_tags",
        "label",
        "name",
        "program",
        "search_path",
        "stderr",
        "stderr_spread",
        "stdin",
        "stdout",
        "stdout_spread",
        "tagged",
    )

    def __init__(self, fields: dict[str, Any]) -> None:
        """Raises ProtocolError, naming the field, for what is not a spec."""
        command = _field(fields, "command", list, None)
        environment = _field(fields, "env", dict, {})
        if not all(isinstance(part, str) for part in (*command, *environment, *environment.values())):
            raise ProtocolError("spec: command and env hold text only")
        self.command: list[bytes] = [encoded(word) for word in command]
        self.command_tags: dict[int, str] = {at: word for at, word in enumerate(command) if has_tags(word)}
        self.environment = {encoded(name): encoded(value) for name, value in environment.items()}
        self.environment_tags = {
            encoded(name): value
            for name, value in environment.items()
            if has_tags(value) and not name.startswith(("FLUX_JOB_", "FLUX_TASK_", "FLUXLIKE_"))
        }
        self.search_path: list[bytes] = self.environment.get(b"PATH", DEFAULT_PATH).split(b":")
        self.program: bytes | None = None
        """Where the search path led to the last time; looked up again if it is no longer there."""
        self.cwd: str = _field(fields, "cwd", str, "") or "/"
        self.stdin: str = _field(fields, "stdin", str, "null") or "null"
        self.stdout: str = _field(fields, "stdout", str, "")
        self.stderr: str = _field(fields, "stderr", str, "") or self.stdout
        self.stdout_spread = differs_by_node(self.stdout)
        self.stderr_spread = differs_by_node(self.stderr)
        self.label: bool = _field(fields, "label", bool, False)
        self.append: bool = _field(fields, "append", bool, False)
        self.name: str = _field(fields, "name", str, "")
        self.array = _array(fields.get("array"))
        """Of the tasks of an array: the array's id as text, and the tick of the first task's id."""
        files = (self.stdin, self.stdout, self.stderr)
        self.tagged = bool(self.command_tags or self.environment_tags) or any(map(has_tags, files))


def _field(fields: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = fields.get(name, default)
    if not isinstance(value, kind):
        raise ProtocolError(f"spec: {name} must be {kind.__name__}")
    return value


def _array(value: Any) -> tuple[bytes, int] | None:
    if value is None:
        return None
    if isinstance(value, list) and [type(part) for part in value] == [str, int]:
        return encoded(value[0]), value[1]
    raise ProtocolError("spec: array must be [id, number]")


class SpecCache:
    """Prepared specs by digest, the most recently used last."""

    __slots__ = ("_specs",)

    def __init__(self) -> None:
        self._specs: dict[str, tuple[dict[str, Any], Spec]] = {}

    def learn(self, specs: dict[Any, Any]) -> None:
        """What the message says counts: a digest that comes with another spec than before gets that one."""
        for digest in [digest for digest in self._specs if digest.startswith(FLEETING)]:
            del self._specs[digest]
        for digest, fields in specs.items():
            known = self._specs.pop(digest, None)
            if known is None or known[0] != fields:
                if not isinstance(digest, str) or not isinstance(fields, dict):
                    raise ProtocolError("start: specs maps a digest to a spec")
                known = (fields, Spec(fields))
            self._specs[digest] = known
        while len(self._specs) > max(KEPT, len(specs)):
            del self._specs[next(iter(self._specs))]

    def get(self, digest: str) -> Spec | None:
        known = self._specs.get(digest)
        return None if known is None else known[1]
