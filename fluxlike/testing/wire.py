"""A line to a PostgreSQL server that can be cut at the worst moments."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

PORT = ".s.PGSQL.5432"


class Wire:
    """A socket beside the server's. `cut` is what happens to the next commit: its answer, or itself, is lost."""

    def __init__(self, server: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fl-wire-", dir="/tmp"))
        self.cut: str | None = None
        self.down = False
        self.cuts = 0
        self._server = server
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / PORT))
        self._listener.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hang_up(self) -> None:
        """Cut every connection there is."""
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.down = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for end in self._open:
            end.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.down:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                self._open += [client, server]
                server.connect(str(self._server / PORT))
                threading.Thread(target=self._carry_up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._carry_down, args=(server, client), daemon=True).start()

    def _carry_up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if b"COMMIT" in data and self.cut == "question":
                    self._break()
                    break
                if b"COMMIT" in data and self.cut == "answer":
                    self.cut = "next answer"
                server.sendall(data)
        _end(client, server)

    def _carry_down(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if self.cut == "next answer":
                    self._break()
                    break
                client.sendall(data)
        _end(client, server)

    def _break(self) -> None:
        self.cut = None
        self.cuts += 1


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
