"""Every dotted key of `-S` and of TOML files: how its value is read and shown, and what it sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from fluxlike.config.bootstrap import endpoint
from fluxlike.config.settings import Settings
from fluxlike.duration import format_duration, parse_duration
from fluxlike.errors import InvalidRequest

Parser = Callable[[object], Any]
"""Takes what TOML gave, or the text after `=`. Its ValueError ends the sentence "the value must be"."""

EXEC_MODES = ("spawn", "null")
DATABASES = ("sqlite", "postgresql")
LEVELS = ("debug", "info", "warning", "error", "critical")
MOST_CORES = 1 << 20
"""A mask of the cores is made from the number: a slip of the finger must not take a gigabyte."""


def seconds(*, zero: bool = True, endless: bool = True) -> Parser:
    """A number of seconds or a duration text; whether 0 and inf make sense depends on the setting."""

    def parse(value: object) -> float:
        number = _seconds(value)
        # Written so that nan, which TOML knows, is refused too.
        if not (number > 0 or (zero and number == 0)) or (number == inf and not endless):
            raise ValueError(f"{'0 or more' if zero else 'greater than 0'}{'' if endless else ' and finite'}")
        return number

    return parse


def _seconds(value: object) -> float:
    wanted = "a duration such as 30, 1.5m or 2h"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(wanted)
    try:
        return parse_duration(value) if isinstance(value, str) else float(value)
    except (InvalidRequest, OverflowError):
        raise ValueError(wanted) from None


def count(least: int, most: int | None = None) -> Parser:
    def parse(value: object) -> int:
        number = _integer(value)
        if number is None or number < least or (most is not None and number > most):
            raise ValueError(f"a whole number, {least} or more{f', at most {most}' if most else ''}")
        return number

    return parse


def _integer(value: object) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) <= 18 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def one_of(*known: str) -> Parser:
    def parse(value: object) -> str:
        if value not in known:
            raise ValueError(f"one of {', '.join(known)}{_nearest(str(value), known)}")
        return str(value)

    return parse


def _nearest(word: str, known: Sequence[str]) -> str:
    import difflib  # only a mistake pays for it

    close = difflib.get_close_matches(word.lower(), known, n=1)
    return f" (the nearest is {close[0]})" if close else ""


def topology(value: object) -> int:
    """Only k-ary trees: where a broker really hangs is learned, so other shapes gain nothing."""
    kind, _, width = value.partition(":") if isinstance(value, str) else ("", "", "")
    number = _integer(width)
    if kind != "kary" or number is None:
        raise ValueError('"kary:K", K children per broker, with K = 0 for a flat tree')
    return number


def text(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("a text that is not empty")
    return value


def database_url(value: object) -> str:
    """No more than the scheme is looked at: the rest is the driver's, which is loaded where it is needed."""
    scheme = value.partition("://")[0] if isinstance(value, str) and "://" in value else ""
    if not isinstance(value, str) or scheme.partition("+")[0] not in DATABASES:
        raise ValueError("postgresql+psycopg://USER@HOST/DATABASE or sqlite:////PATH")
    return value


def without_password(value: object) -> str:
    """The URL as it may be shown and noted down. In doubt, too much is left out."""
    scheme, mark, rest = str(value).partition("://")
    who, at, where = rest.rpartition("@")
    where, question, query = where.partition("?")
    kept = "&".join(word for word in query.split("&") if "password=" not in word.lower())
    return f"{scheme}{mark}{who.partition(':')[0]}{at}{where}{question if kept else ''}{kept}"


def switch(value: object) -> bool:
    if value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _show(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_duration(value) if isfinite(value) else "inf"
    return str(value)


def _show_topology(value: object) -> str:
    return f"kary:{value}"


@dataclass(frozen=True)
class Key:
    name: str
    section: str
    field: str
    parse: Parser
    help: str
    show: Callable[[object], str] = _show
    secret: bool = False
    """The value may hold a password: errors must not repeat it."""

    def value_in(self, settings: Settings) -> str:
        """The value as `-S` would take it; empty for one that is decided at run time."""
        return self.show(getattr(getattr(settings, self.section), self.field))


_PATIENCE = seconds()
"""Zero and inf are meant: at once, never."""
_PERIOD = seconds(zero=False, endless=False)
_DELAY = seconds(endless=False)

_KEYS = (
    Key("tbon.topo", "overlay", "fanout", topology, "shape of the broker tree, kary:K", _show_topology),
    Key("tbon.fanout", "overlay", "fanout", count(0), "children per broker; the same as tbon.topo=kary:K"),
    Key("tbon.torpid", "overlay", "torpid", _PERIOD, "silence after which a broker gets no new work"),
    Key("tbon.lost", "overlay", "lost", _PERIOD, "silence after which a broker is given up"),
    Key("heartbeat.period", "overlay", "heartbeat", _PERIOD, "time between heartbeats"),
    Key("exec.lost-grace", "exec", "lost_grace", _PATIENCE, "how long jobs of a lost node are waited for"),
    Key("exec.orphan-timeout", "exec", "orphan_timeout", _PATIENCE, "how long tasks outlive their broker"),
    Key("exec.kill-timeout", "exec", "kill_timeout", _DELAY, "time between the first signal and SIGKILL"),
    Key("exec.mode", "exec", "mode", one_of(*EXEC_MODES), "spawn: run jobs; null: only say that they ended"),
    Key("resource.cores", "resource", "cores", count(1, MOST_CORES), "cores of a rank, not those found"),
    Key("resource.gpus", "resource", "gpus", count(0, MOST_CORES), "gpus of a rank, not those found"),
    Key("store.url", "store", "url", database_url, "the database that keeps jobs", without_password, secret=True),
    Key(
        "job-manager.inactive-age-limit", "job_manager", "inactive_age_limit", _PATIENCE, "how long ended jobs are kept"
    ),
    Key(
        "job-manager.inactive-num-limit", "job_manager", "inactive_num_limit", count(0), "how many ended jobs are kept"
    ),
    Key("broker.quorum", "broker", "quorum", count(1), "brokers online before the initial program runs"),
    Key("broker.quorum-warn", "broker", "quorum_warn", seconds(zero=False), "time between warnings"),
    Key("broker.cleanup-timeout", "broker", "cleanup_timeout", _PATIENCE, "how long jobs get to end"),
    Key("broker.shutdown-timeout", "broker", "shutdown_timeout", _PATIENCE, "how long children get to leave"),
    Key("log.level", "log", "level", one_of(*LEVELS), "least severe level kept for dmesg"),
    Key("log.stderr-level", "log", "stderr_level", one_of(*LEVELS), "least severe level written to standard error"),
    Key("log.ring", "log", "ring", count(1, 1 << 24), "log entries kept on each broker"),
    Key("bootstrap.curve_cert", "bootstrap", "curve_cert", text, "certificate that all brokers share"),
    Key("bootstrap.default_port", "bootstrap", "default_port", count(1, 65535), "port that %p stands for"),
    Key("bootstrap.default_bind", "bootstrap", "default_bind", endpoint, "where to listen, with %h and %p"),
    Key("bootstrap.default_connect", "bootstrap", "default_connect", endpoint, "where to be reached"),
    Key("bootstrap.enable_ipv6", "bootstrap", "enable_ipv6", switch, "whether links may use IPv6"),
)

KEYS: dict[str, Key] = {key.name: key for key in _KEYS}
TABLES = frozenset(name.partition(".")[0] for name in KEYS)


def values(settings: Settings) -> dict[str, str]:
    """Every key with its present value, as attributes are listed."""
    return {name: key.value_in(settings) for name, key in KEYS.items()}
