"""A page with ONNX Runtime Web, and calls to it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx
from playwright.sync_api import Error

from runner.backends.graphs.session import Outputs
from runner.backends.onnxruntime_web.browser import CLOSE_S, StartedBrowser, runtime_version
from runner.backends.onnxruntime_web.server import Array, PageServer
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, Unavailable
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.web.pages import BUNDLES, RUNTIME_FOLDER
from runner.measure.clock import monotonic

_SHARE = 0.9
"""Share of a cell's time limit that one call may take, so that the runner says itself which one
was never answered; what takes longer altogether the launcher ends."""
_ENDED = ("crashed", "closed", "GPU device was lost")
"""Words of errors after which a page answers no more."""
_STUCK = "no other provider may take the rest"
"""The end of a refusal after which the page's runtime creates no session any more."""
NS_PER_MS = 1_000_000
_T = TypeVar("_T")


def single_node(operator: str, inputs: Sequence[str]) -> onnx.ModelProto:
    """A graph of one node from the number `x` to `y`."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    node = onnx.helper.make_node(operator, inputs, ["y"])
    graph = onnx.helper.make_graph([node], "single", [x], [y])
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)


def nanoseconds(milliseconds: float) -> int:
    return round(milliseconds * NS_PER_MS)


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
        described = self.call(name, query, address)
        return {
            output: _array(self.server.take(address, output), facts)
            for output, facts in described.items()
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
