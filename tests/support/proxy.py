"""A stand-in for an engine that goes away: a socket between client and engine, cut on demand."""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self


class EngineProxy:
    """Passes bytes on until `cut` is called, and again after `come_back`."""

    def __init__(self, path: Path, engine: str) -> None:
        self.path = path
        self._engine = engine
        self._server = socket.socket(socket.AF_UNIX)
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *exception: object) -> None:
        self.cut()

    def cut(self) -> None:
        """Break every connection and refuse new ones."""
        self.path.unlink(missing_ok=True)
        self._server.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def come_back(self) -> None:
        """Listen again, as an engine does that was started anew."""
        self._server, self._connections = socket.socket(socket.AF_UNIX), []
        self._listen()

    def _listen(self) -> None:
        self._server.bind(str(self.path))
        self._server.listen()
        threading.Thread(target=self._accept, args=[self._server], daemon=True).start()

    def _accept(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(self._engine)
                self._connections += [client, engine]
                for source, target in ((client, engine), (engine, client)):
                    threading.Thread(target=_pass_on, args=[source, target], daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
