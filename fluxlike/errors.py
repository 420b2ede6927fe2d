"""The one tree of errors. Each carries the code it travels under; edges translate codes in one table each."""

from __future__ import annotations


class FluxlikeError(Exception):
    """Something went wrong that a caller can be told about."""

    code = "internal"


class InvalidRequest(FluxlikeError):
    """The request itself is malformed or not allowed in this form."""

    code = "invalid"


class InvalidJobspec(InvalidRequest):
    """A jobspec was refused; `path` names the field."""

    code = "invalid-jobspec"

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path = path


class Unsatisfiable(FluxlikeError):
    """The request could never run here, even on an idle instance."""

    code = "unsatisfiable"


class NotFound(FluxlikeError):
    code = "not-found"


class InvalidTransition(FluxlikeError):
    """An event that the job's state does not allow."""

    code = "invalid-transition"


class PermissionDenied(FluxlikeError):
    code = "permission"


class HostUnreachable(FluxlikeError):
    """The rank is lost, or was never there."""

    code = "host-unreachable"


class NoSuchService(FluxlikeError):
    code = "no-service"


class TimedOut(FluxlikeError):
    code = "timed-out"


class StoreUnavailable(FluxlikeError):
    """The store could not commit. Nothing was changed; try again."""

    code = "store-unavailable"


class Unavailable(FluxlikeError):
    """The instance does not take this now (starting, stopping, submission disabled)."""

    code = "unavailable"


class ProtocolError(FluxlikeError):
    """Bytes that are not a message of ours."""

    code = "protocol"


class Disconnected(FluxlikeError):
    """The connection to the broker is gone."""

    code = "disconnected"


class ConfigError(FluxlikeError):
    code = "config"


def _subclasses(cls: type[FluxlikeError]) -> list[type[FluxlikeError]]:
    return [cls, *(c for sub in cls.__subclasses__() for c in _subclasses(sub))]


BY_CODE: dict[str, type[FluxlikeError]] = {cls.code: cls for cls in _subclasses(FluxlikeError)}


def from_wire(code: str, text: str) -> FluxlikeError:
    """The error a peer sent, as the class it had there; an unknown code stays readable."""
    cls = BY_CODE.get(code)
    if cls is None:
        return FluxlikeError(f"{code}: {text}")
    return cls(text)
