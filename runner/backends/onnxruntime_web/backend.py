"""A session of ONNX Runtime Web over the prepared graphs of a job, in a browser."""

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from runner.backends.base import (
    Generator,
    Iteration,
    PageMemory,
    ProofEvidence,
    Query,
    Region,
    Stage,
)
from runner.backends.evidence import observe
from runner.backends.graphs.feeds import forward_pass
from runner.backends.graphs.session import GraphSession, Outputs, graph_columns
from runner.backends.onnxruntime_web.browser import started_browser
from runner.backends.onnxruntime_web.device import (
    PROVIDERS,
    NodePlacement,
    WebDevice,
    require_precision,
    takes_software,
    wants_software,
    web_device,
)
from runner.backends.onnxruntime_web.page import PageLimits, WebPage
from runner.backends.onnxruntime_web.query import PageQuery, WebGenerator, WebGraph, bind_query
from runner.backends.peaks import PeakKernels
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import find_graph, first_cell_with_graph, fixed_shape
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.web import BrowserChoice
from runner.inputs import Inputs, synthesise, tokens_to_generate
from runner.measure.clock import Clock
from runner.measure.energy import EnergyDevice
from runner.measure.environment import versions

_COMPUTES: Mapping[Precision, str] = {
    "fp32": "float32",
    "fp16": "float16",
    "int8": "int8 products of quantized layers, float32 elsewhere",
}


class WebSession(GraphSession):
    """The graph of a job in a page: one shape at a time, as sizes are fixed when it is loaded.

    Of loading, `interpreter` is launching the browser and its page, `import` ONNX Runtime Web and
    its WASM, `weights` fetching the graph's files from the loopback server, `instantiate` creating
    sessions; all but the first by the page's clock.
    """

    energy_device = EnergyDevice()
    interop_threads = None
    timed_region = (
        "ONNX Runtime Web's run by the page's own clock: inputs and outputs lie in the page's "
        "memory, copies to and from an adapter are inside; the way to the page is not"
    )

    def __init__(self, job: Job, threads: int, graphs: Path | None) -> None:
        self._job, self._graphs = job, graphs
        self._backend = job.cells[0].backend
        self._asked_threads = threads
        self._limits = PageLimits.of(job)
        is_wasm = self._backend == "wasm"
        self.threads = threads if is_wasm else None
        self.region: Region = "host" if is_wasm else "host_to_host"
        self._exits = ExitStack()
        self._page: WebPage | None = None
        self._device = WebDevice("")
        with ExitStack() as exits:
            exits.callback(self.close)
            page = self._opened()
            require_precision(job.cells[0].precision, page.facts)
            first = first_cell_with_graph(job, graphs)
            self._graph = self._load(page, first)
            exits.pop_all()
        self._shape = fixed_shape(first)
        self._is_fresh = True
        self.parameters = self._graph.graph.parameters
        self.stages_ns: Mapping[Stage, int] = {
            "interpreter": page.browser.launch_ns + page.load_ns,
            "import": page.import_ns,
            **self._graph.stages_ns,
        }

    @property
    def device_name(self) -> str:
        return self._device.name

    @property
    def clock_resolution_s(self) -> float:
        """That of the page's clock, which an isolated page reads in steps of 5 µs."""
        return float(self._opened().facts["resolution_ms"]) / 1000

    @property
    def libraries(self) -> Mapping[str, str]:
        page = self._opened()
        return {
            "onnxruntime-web": page.runtime_version,
            "browser": f"{page.browser.executable.name} {page.browser.browser.version}",
            **versions(("playwright", "numpy")),
        }

    @property
    def columns(self) -> Mapping[str, object]:
        page = self._opened()
        options = {
            "provider": self._backend,
            "browser": str(BrowserChoice.of(os.environ) or BrowserChoice()),
            "browser_switches": " ".join(page.browser.arguments),
            "cross_origin_isolated": str(page.facts["isolated"]).lower(),
            "wasm_threads": str(page.facts["threads"]),
            "shapes": self._graph.sizes,
            **({"caches": self._graph.caches} if self._graph.caches else {}),
        }
        return {
            **graph_columns(self._job, self._graph.graph),
            "inference_precision": _COMPUTES[self._job.cells[0].precision],
            "execution_options": options,
            "software_device": self._device.is_software,
        }

    def bind(self, cell: Cell, inputs: Inputs) -> PageQuery:
        return bind_query(self._graph_for(cell), self._job.model, inputs)

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Query:
        return self.bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Generator:
        del clock  # the page has its own
        graph = self._graph_for(cell)
        return WebGenerator(graph, self._job.model, inputs, tokens_to_generate(cell))

    def empty(self) -> Query:
        page = self._opened()
        return PageQuery(page, page.call("bindNothing"))

    def peak_kernels(self) -> PeakKernels | None:
        """No kernels, as a page has none apart from a graph's; None on a software adapter."""
        if self._device.is_software:
            return None
        return PeakKernels("no kernels of a page are measured")

    def outputs_of(self, outputs: Any) -> Outputs:
        return {name: np.asarray(value) for name, value in outputs.items()}

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        """Load the graph again in a page whose runtime logs where it places nodes."""
        del iteration
        outcome = observe(query)
        browser, threads = self._opened().browser, self._asked_threads
        page = WebPage(browser, self._backend, threads, verbose=True, limits=self._limits)
        with closing(page):
            graph = self._load(page, self._bound_cell)
            if graph.makes_sessions_late:
                inputs = synthesise(self._job.model, self._bound_cell, self._job.weights_seed)
                WebGenerator(graph, self._job.model, inputs, new_tokens=2)
            placement = NodePlacement(page.log)
        proof = placement.proof(self._backend)
        facts = self._opened().facts
        adapter = facts.get("adapter") or facts.get("context") or {}
        evidence = {
            "claimed": self._backend,
            "provider": PROVIDERS[self._backend],
            "browser": self.libraries["browser"],
            "threads": str(facts["threads"]),
            "isolated": str(facts["isolated"]).lower(),
            **{f"adapter_{name}": str(value) for name, value in adapter.items() if value != ""},
            **placement.evidence(),
            **outcome.failure,
        }
        return ("partial" if outcome.error and proof == "proven" else proof), evidence

    def trace(self, action: Query, stem: Path) -> None:
        del action, stem
        raise Unsupported(reason("web_no_profiler"))

    def page_memory(self) -> PageMemory:
        bytes_: Mapping[str, int] = self._opened().call("memory")
        uses_gpu = self._backend == "webgpu"
        return PageMemory(
            wasm_bytes=bytes_["wasm"],
            gpu_buffer_bytes=bytes_["gpu"] if uses_gpu else None,
            gpu_buffer_peak_bytes=bytes_["gpu_peak"] if uses_gpu else None,
        )

    def trim(self) -> None:
        if not self._is_fresh:
            self.close()

    def close(self) -> None:
        self._page = None
        self._exits.close()

    def _opened(self) -> WebPage:
        """The page; where there is none that answers, one in a fresh browser."""
        if self._page is not None and self._page.has_ended:
            self.close()
        if self._page is None:
            with ExitStack() as exits:
                software = wants_software(self._job)
                browser = exits.enter_context(started_browser(self._backend, software=software))
                page = WebPage(browser, self._backend, self._asked_threads, limits=self._limits)
                exits.callback(page.close)
                allowed = takes_software(self._job)
                self._device = web_device(self._backend, page.facts, software=allowed)
                self._exits = exits.pop_all()
            self._page, self._is_fresh, self._shape = page, True, ""
        return self._page

    def _graph_for(self, cell: Cell) -> WebGraph:
        page = self._opened()
        self._is_fresh = False
        if fixed_shape(cell) != self._shape:
            if self._shape:
                self._graph.close()
            self._shape = ""
            self._graph = self._load(page, cell)
            self._shape = fixed_shape(cell)
        return self._graph

    def _load(self, page: WebPage, cell: Cell) -> WebGraph:
        graph, folder = find_graph(self._job, cell, self._graphs)
        inputs = synthesise(self._job.model, cell, self._job.weights_seed)
        feeds = forward_pass(graph, self._job.model, inputs)[1]
        self._bound_cell = cell
        return WebGraph(page, self._backend, graph, folder, feeds)


def open_session(job: Job, threads: int, graphs: Path | None = None) -> WebSession:
    return WebSession(job, threads, graphs)
