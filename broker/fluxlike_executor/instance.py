"""What the broker says about itself and its instance in `hello`."""

from __future__ import annotations

from typing import Any

from fluxlike_executor.wire import ProtocolError

PROTOCOL = 1


class Instance:
    __slots__ = ("host", "id_path", "kill_timeout", "orphan_timeout", "rank", "tmpdir", "uri", "uri_bytes")

    def __init__(self, fields: Any) -> None:
        """Raises ProtocolError for a greeting that is not one, or of another protocol."""
        if not isinstance(fields, dict) or fields.get("protocol") != PROTOCOL:
            raise ProtocolError(f"hello: this executor speaks protocol {PROTOCOL}")
        self.rank: int = _field(fields, "rank", int)
        self.host: str = _field(fields, "host", str)
        self.uri: str = _field(fields, "uri", str)
        self.tmpdir: str = _field(fields, "tmpdir", str)
        self.kill_timeout = float(_field(fields, "kill_timeout", (int, float)))
        self.orphan_timeout = float(_field(fields, "orphan_timeout", (int, float)))
        self.uri_bytes = self.uri.encode("utf-8", "surrogateescape")
        path = _field(fields, "id_path", str) if "id_path" in fields else "/"
        self.id_path = path.rstrip("/").encode() + b"/"
        """What comes before a job's id in its FLUX_JOB_ID_PATH: the ids of the jobs the instance is nested in."""

    @classmethod
    def unknown(cls, orphan_timeout: float) -> Instance:
        """Before the first greeting: all there is to know is how long to wait for it."""
        fields = {"rank": 0, "host": "", "uri": "", "tmpdir": "/nonexistent", "kill_timeout": 0.0}
        return cls({**fields, "orphan_timeout": orphan_timeout, "protocol": PROTOCOL})


def _field(fields: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(fields.get(name), kind):
        raise ProtocolError(f"hello: {name} is missing or of the wrong type")
    return fields[name]
