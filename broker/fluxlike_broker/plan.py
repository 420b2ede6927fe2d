"""What a broker process is told by its launcher: everything that is decided before the fork."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fluxlike.config.registry import without_password
from fluxlike.config.settings import Settings
from fluxlike_broker.bootstrap import Bootstrap
from fluxlike_broker.directories import JOBS_FILE


@dataclass(frozen=True)
class Plan:
    boot: Bootstrap
    settings: Settings
    rundir: str
    """The instance's run directory on this host; each rank has a folder in it."""
    statedir: str | None
    detached: bool
    control_fd: int = -1
    """Rank 0's line to its launcher; -1 for others."""

    @property
    def rank(self) -> int:
        return self.boot.rank

    @property
    def folder(self) -> str:
        return os.path.join(self.rundir, str(self.rank))

    @property
    def client_socket(self) -> str:
        return os.path.join(self.folder, "local")

    @property
    def uri(self) -> str:
        return f"local://{self.client_socket}"

    @property
    def executor_socket(self) -> str:
        return os.path.join(self.folder, "executor.sock")

    @property
    def executor_lock(self) -> str:
        return self.executor_socket + ".lock"

    @property
    def broker_lock(self) -> str:
        return os.path.join(self.folder, "broker.lock")

    @property
    def tmpdir(self) -> str:
        return os.path.join(self.folder, "tmp")

    @property
    def data(self) -> str:
        """Where rank 0 keeps jobs and their output."""
        return self.statedir if self.statedir is not None else self.folder

    @property
    def store_url(self) -> str:
        return self.settings.store.url or f"sqlite:///{os.path.join(self.data, JOBS_FILE)}"

    @property
    def store_name(self) -> str:
        """Where jobs are, as people may be told."""
        return without_password(self.settings.store.url) or self.data

    @property
    def durable(self) -> bool:
        return self.statedir is not None

    @property
    def orphan_timeout(self) -> float:
        return self.settings.exec.orphan_timeout_for(has_state=self.durable)
