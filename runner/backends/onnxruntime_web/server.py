"""A web server on loopback that gives one page its files and arrays, and takes outputs from it.

Pages are isolated from other origins (COOP and COEP), since a browser gives only such pages threads
and a clock of 5 µs. Every address begins with a secret that this server alone and its page know.
"""

import secrets
import shutil
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from runner.contract.errors import Unavailable
from runner.contract.reasons import reason
from runner.contract.web.pages import BYTES_TYPE, ISOLATION, SCRIPTS_FOLDER, content_type

Array = npt.NDArray[Any]


class PageServer:
    """Serves a page, the runtime's files, and what is put in by the runner."""

    def __init__(self, runtime_folder: Path, headers: Mapping[str, str] = ISOLATION) -> None:
        """Serve the runtime's files on a port that is free, with these headers in every answer."""
        secret = secrets.token_urlsafe(16)
        self._files: dict[str, Path] = {
            **{f"/page/{path.name}": path for path in SCRIPTS_FOLDER.iterdir() if path.is_file()},
            **{f"/runtime/{path.name}": path for path in runtime_folder.iterdir()},
        }
        self._arrays: dict[str, bytes] = {}
        self._outputs: dict[str, bytes] = {}
        self._numbers = iter(range(1, 1 << 62))
        try:
            self._server = _Server(self, f"/{secret}", headers)
        except OSError as error:
            raise Unavailable(reason("page_port", port="any port", error=error.strerror)) from error
        self.url = f"http://127.0.0.1:{self._server.server_port}/{secret}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def add_file(self, path: Path) -> str:
        address = f"/files/{next(self._numbers)}"
        self._files[address] = path
        return f"{self.url}{address}"

    def add_array(self, array: Array) -> str:
        """The address of an array's bytes, until `forget`."""
        address = f"/arrays/{next(self._numbers)}"
        self._arrays[address] = np.ascontiguousarray(array).tobytes()
        return f"{self.url}{address}"

    def forget(self) -> None:
        self._arrays.clear()

    def outputs_address(self) -> str:
        """An address below which a page may leave outputs, each under a name."""
        return f"{self.url}/outputs/{next(self._numbers)}"

    def take(self, address: str, name: str) -> bytes:
        return self._outputs.pop(f"{address.removeprefix(self.url)}/{name}")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def content(self, address: str) -> Path | bytes | None:
        return self._files.get(address) or self._arrays.get(address)

    def keep(self, address: str, content: bytes) -> bool:
        """Keep an output; False if nobody waits for one there."""
        if not address.startswith("/outputs/"):
            return False
        self._outputs[unquote(address)] = content
        return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: PageServer, prefix: str, headers: Mapping[str, str]) -> None:
        self.pages, self.prefix, self.headers = pages, prefix, headers
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that was killed while it was connected."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        address = self._address()
        content = self.server.pages.content(address) if address else None
        if content is None:
            self._refuse()
        elif isinstance(content, bytes):
            self._begin(HTTPStatus.OK, BYTES_TYPE, len(content))
            self.wfile.write(content)
        else:
            self._begin(HTTPStatus.OK, content_type(content), content.stat().st_size)
            with content.open("rb") as file:
                shutil.copyfileobj(file, self.wfile, 1 << 20)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = self._address()
        if address and self.server.pages.keep(address, content):
            self._begin(HTTPStatus.NO_CONTENT, BYTES_TYPE, 0)
        else:
            self._refuse()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _address(self) -> str | None:
        """The part behind the secret; None without it."""
        prefix = self.server.prefix
        begins = secrets.compare_digest(self.path[: len(prefix)], prefix)
        return self.path[len(prefix) :] if begins else None

    def _refuse(self) -> None:
        self._begin(HTTPStatus.NOT_FOUND, BYTES_TYPE, 0)

    def _begin(self, status: HTTPStatus, type_: str, length: int) -> None:
        headers: Mapping[str, str] = {
            **self.server.headers,
            "Content-Type": type_,
            "Content-Length": str(length),
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
