"""A page with ONNX Runtime Web, calls to it, and the web server on loopback that serves it.

Pages are isolated from other origins (COOP and COEP), since a browser gives only such pages threads
and a clock of 5 µs. Every address begins with a secret that the server alone and its page know.
"""

import secrets
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import onnx
from playwright.sync_api import Error

from runner.backends.graphs.session import Outputs
from runner.backends.onnxruntime_web.browser import CLOSE_S, StartedBrowser, runtime_version
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, Unavailable
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.web import (
    BUNDLES,
    BYTES_TYPE,
    ISOLATION,
    RUNTIME_FOLDER,
    SCRIPTS_FOLDER,
    content_type,
)
from runner.measure.clock import monotonic

_SHARE = 0.9
"""Share of a cell's time limit that one call may take, so that the runner names that call."""
_ENDED = ("crashed", "closed", "GPU device was lost")
"""Words of errors after which a page answers no more."""
_STUCK = "no other provider may take the rest"
"""The end of a refusal after which the page's runtime creates no session any more."""
_POLL_S = 0.1
"""Most seconds that the server takes to notice its end."""
NS_PER_MS = 1_000_000
_T = TypeVar("_T")
Array = npt.NDArray[Any]


def single_node(operator: str, inputs: Sequence[str]) -> onnx.ModelProto:
    """A graph of one node from the number `x` to `y`."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    node = onnx.helper.make_node(operator, inputs, ["y"])
    graph = onnx.helper.make_graph([node], "single", [x], [y])
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)


def nanoseconds(milliseconds: float) -> int:
    return round(milliseconds * NS_PER_MS)


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
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), daemon=True
        )
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


class PageError(Exception):
    """An error that a page threw, in its own words."""


@dataclass(frozen=True)
class PageLimits:
    """The patience with a page, which may never answer."""

    start_s: float = 120
    """The most seconds that it takes to load and to import the runtime."""
    answer_s: float = 540
    """The most seconds of a call whose length nobody knows before."""

    @classmethod
    def of(cls, job: Job) -> "PageLimits":
        """Limits that end a call before the launcher ends the job."""
        answer_s = _SHARE * job.timeout_s
        return cls(min(cls.start_s, answer_s), answer_s)


class WebPage:
    """A page; every call is answered with plain data."""

    def __init__(
        self,
        browser: StartedBrowser,
        backend: Backend,
        threads: int,
        *,
        verbose: bool = False,
        limits: PageLimits | None = None,
        server: PageServer | None = None,
    ) -> None:
        """Load the page, import the runtime; `verbose` logs where nodes are placed."""
        self.runtime_version = runtime_version()
        self.browser = browser
        self.is_verbose = verbose
        self.log: list[str] = []
        self.has_ended = False
        """True once it answers no more."""
        self.limits = limits or PageLimits()
        with ExitStack() as exits:
            self.server = server or PageServer(RUNTIME_FOLDER)
            exits.callback(self.server.close)
            self._open(backend, threads, verbose)
            self._exits = exits.pop_all()

    def call(self, name: str, *arguments: object, seconds: float | None = None) -> Any:
        expression = "([name, values]) => window.answer(name, values)"
        return self._ask(
            name,
            lambda: self._page.evaluate(expression, [name, [*arguments]]),
            seconds or self.limits.answer_s,
        )

    def array(self, array: Array) -> dict[str, object]:
        """The description of an array whose bytes the page can fetch."""
        return {
            "url": self.server.add_array(array),
            "type": str(array.dtype),
            "dims": list(array.shape),
        }

    def outputs(self, name: str, query: int) -> Outputs:
        address = self.server.outputs_address()
        return {
            output: _array(self.server.take(address, output), facts)
            for output, facts in self.call(name, query, address).items()
        }

    def posted(self, name: str, query: int, options: Mapping[str, object]) -> list[Array]:
        """The arrays of a call that posts a row of them."""
        address = self.server.outputs_address()
        described = self.call(name, query, {**options, "url": address})
        return [
            _array(self.server.take(address, str(number)), facts)
            for number, facts in enumerate(described)
        ]

    def close(self) -> None:
        with suppress(Error, BenchError), self.browser.within(CLOSE_S, "closing the page"):
            self._page.close()
        self._exits.close()

    def _ask(self, action: str, ask: Callable[[], _T], seconds: float) -> _T:
        try:
            with self.browser.within(seconds, action):
                return ask()
        except BenchError:
            self.has_ended = True
            raise
        except Error as error:
            # The page's own words, without the driver's before them and the stack behind.
            first = str(error).split("\n    at ", maxsplit=1)[0].strip()
            words = first.removeprefix("Page.evaluate: ").removeprefix("Error: ")
            is_gone = any(word in words for word in _ENDED)
            self.has_ended = is_gone or words.endswith(_STUCK)
            if is_gone:
                raise BenchError(reason("page_ended", words=words)) from error
            raise PageError(words) from error

    def _load(self) -> None:
        self._page = self.browser.browser.new_page()
        self._page.set_default_timeout(0)  # which is counted around all of it
        self._page.on("console", lambda message: self.log.append(message.text))
        self._page.goto(f"{self.server.url}/page/index.html")
        self._page.wait_for_function("window.answer !== undefined")

    def _open(self, backend: Backend, threads: int, verbose: bool) -> None:
        began, start_s = monotonic(), self.limits.start_s
        self._ask("loading the page", self._load, start_s)
        self.load_ns = monotonic() - began
        folder = f"{self.server.url}/runtime/"
        options = {
            "bundle": f"{folder}{BUNDLES[backend]}",
            "folder": folder,
            "threads": threads,
            "verbose": verbose,
            "first": list(single_node("Identity", ["x"]).SerializeToString()),
        }
        self.import_ns = nanoseconds(self.call("start", options, seconds=start_s))
        self.facts: Mapping[str, Any] = self.call("facts", backend, seconds=start_s)
        if not self.facts["isolated"]:
            raise Unavailable(reason("page_not_isolated"))


def _array(content: bytes, facts: Mapping[str, Any]) -> Array:
    return np.frombuffer(content, facts["type"]).reshape(facts["dims"])
