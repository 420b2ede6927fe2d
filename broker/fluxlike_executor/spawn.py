"""From words to a process: the search for the program, posix_spawn, and what each failure is called."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat

from fluxlike_executor.environment import Environment
from fluxlike_executor.spec import Spec

NOT_FOUND = 127 << 8
NOT_POSSIBLE = 126 << 8

NO_INPUT = 0
"""The executor's own standard input, which leads nowhere (`process.own_descriptors`)."""

_DUP2 = os.POSIX_SPAWN_DUP2


Descriptors = tuple[int, int, int]
"""What a task gets as its standard input, output and error."""


class StartError(Exception):
    """A task that cannot be started: the wait status to report for it, and why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def refusal(error: OSError | ValueError, what: str) -> StartError:
    """Anything the system refuses to do for a task, except finding its program."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return StartError(NOT_POSSIBLE, f"{what}: {reason}")


def find(word: bytes, search_path: list[bytes]) -> bytes:
    """The program's file by the job's own PATH. Raises FileNotFoundError, or PermissionError if all there is may
    not be run."""
    problem = errno.ENOENT
    for directory in search_path:
        path = directory + b"/" + word if directory else word
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            continue
        if os.access(path, os.X_OK):
            return path
        problem = errno.EACCES
    raise OSError(problem, os.strerror(problem))


class Spawner:
    """Starts programs in a session, and so a process group, of their own."""

    __slots__ = ("_for_tasks", "_ignored", "_low", "_own")

    def __init__(self) -> None:
        """Many tasks use up many descriptors: takes all that may be had, but tasks keep the limit found here."""
        # The executor ignores SIGPIPE, and whatever started it may ignore more; a task must see none of that.
        # Signals with a handler go back to their default by themselves.
        self._ignored = tuple(s for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._for_tasks = (soft, hard)
        self._own = (hard, hard)
        self._low: Descriptors = (-1, -1, -1)
        if soft != hard:
            self._low = (os.dup(NO_INPUT), os.dup(NO_INPUT), os.dup(NO_INPUT))
            resource.setrlimit(resource.RLIMIT_NOFILE, self._own)

    def start(self, spec: Spec, argv: list[bytes], environment: Environment, fds: Descriptors) -> int:
        """Answers the process id. Raises StartError."""
        if not argv:
            raise StartError(NOT_POSSIBLE, "the command is empty")
        try:
            return self._start(spec, argv, environment, fds)
        except FileNotFoundError as error:
            raise StartError(NOT_FOUND, f"{_text(argv[0])}: {error.strerror}") from None
        except (OSError, ValueError) as error:
            raise refusal(error, _text(argv[0])) from None

    def _start(self, spec: Spec, argv: list[bytes], environment: Environment, fds: Descriptors) -> int:
        word = argv[0]
        if b"/" in word:
            return self._spawn(word, argv, environment, fds)
        if spec.program is not None:
            try:
                return self._spawn(spec.program, argv, environment, fds)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                spec.program = None  # it has moved; search anew
        path = find(word, spec.search_path)
        pid = self._spawn(path, argv, environment, fds)
        if 0 not in spec.command_tags:
            spec.program = path
        return pid

    def _spawn(self, path: bytes, argv: list[bytes], environment: Environment, fds: Descriptors) -> int:
        if self._for_tasks != self._own:
            fds = self._below_limit(fds)
            resource.setrlimit(resource.RLIMIT_NOFILE, self._for_tasks)
        try:
            return self._posix_spawn(path, argv, environment, fds)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without its first line: run it as every shell does.
            return self._posix_spawn(b"/bin/sh", [b"sh", path, *argv[1:]], environment, fds)
        finally:
            if self._for_tasks != self._own:
                resource.setrlimit(resource.RLIMIT_NOFILE, self._own)
                self._let_go(fds)

    def _below_limit(self, fds: Descriptors) -> Descriptors:
        """Descriptors at or above the tasks' limit cannot be handed on; those get a low number for the moment."""
        if max(fds) < self._for_tasks[0]:
            return fds
        for fd, low in zip(fds, self._low, strict=True):
            os.dup2(fd, low, inheritable=False)
        return self._low

    def _let_go(self, fds: Descriptors) -> None:
        """A pipe is at its end only when the low number no longer leads to it."""
        if fds is self._low:
            for low in self._low:
                os.dup2(NO_INPUT, low, inheritable=False)

    def _posix_spawn(self, path: bytes, argv: list[bytes], environment: Environment, fds: Descriptors) -> int:
        stdin, stdout, stderr = fds
        actions = ((_DUP2, stdout, 1), (_DUP2, stderr, 2))
        return os.posix_spawn(
            path,
            argv,
            environment,
            file_actions=actions if stdin == NO_INPUT else ((_DUP2, stdin, 0), *actions),
            setsid=True,
            setsigmask=(),
            setsigdef=self._ignored,
        )


def _text(word: bytes) -> str:
    return word.decode("utf-8", "replace")
