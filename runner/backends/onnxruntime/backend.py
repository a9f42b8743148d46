"""A session of ONNX Runtime over the prepared graphs of a job."""

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from runner.backends.base import (
    DeviceMemory,
    Generator,
    Iteration,
    ProofEvidence,
    Query,
    Region,
    Stage,
)
from runner.backends.evidence import SeenKernels, format_counts, has_room_again, look_again
from runner.backends.graphs.generation import DecodeLoop, GraphGenerator
from runner.backends.graphs.session import GraphSession, Outputs, graph_columns
from runner.backends.onnxruntime.device import (
    DriverMemory,
    OnnxDevice,
    arithmetic_of,
    cpu_device,
    find_cuda_device,
)
from runner.backends.onnxruntime.evidence import onnx_kernels, profiled_products, prove, trace
from runner.backends.onnxruntime.peaks import onnx_peaks
from runner.backends.onnxruntime.query import (
    OnnxExecutor,
    OnnxQuery,
    empty_query,
    to_host,
    with_copies,
)
from runner.backends.onnxruntime.sessions import OnnxGraph, recorded_options
from runner.backends.peaks import PeakKernels
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable
from runner.contract.graph import DYNAMIC, Graph, find_graph, first_cell_with_graph, fixed_shape
from runner.contract.host import cpu_model
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.inputs import Inputs, synthesise, tokens_to_generate
from runner.measure.clock import Clock, monotonic
from runner.measure.energy import EnergyDevice
from runner.measure.environment import versions

_LIBRARIES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-qnn", "numpy")


class OnnxGraphs:
    """The graphs of a job, each loaded when a cell of its shape is bound; the latest is kept."""

    def __init__(self, job: Job, device: OnnxDevice, threads: int, graphs: Path | None) -> None:
        self._job = job
        self._device = device
        self._threads = threads
        self._graphs = graphs
        self.compile_columns: dict[str, object] = {}
        self.rewrites: tuple[str, ...] = ()
        self._loaded: dict[str, OnnxGraph] = {}
        self._first = first_cell_with_graph(job, graphs)
        self.of(self._first)

    @property
    def latest(self) -> OnnxGraph:
        return next(iter(self._loaded.values()))

    def of(self, cell: Cell) -> OnnxGraph:
        graph, folder = find_graph(self._job, cell, self._graphs)
        shape = fixed_shape(cell) if self._device.compiles else graph.shape
        if shape not in self._loaded:
            self._loaded = {shape: self._load(cell, graph, folder)}
        return self._loaded[shape]

    def renew(self) -> None:
        """Create a dynamic graph's sessions again: arenas keep their first region for ever."""
        if not self._device.compiles and DYNAMIC in self._loaded:
            self.close()
            self.of(self._first)

    def close(self) -> None:
        self._loaded = {}

    def _load(self, cell: Cell, graph: Graph, folder: Path) -> OnnxGraph:
        if not self._device.compiles:
            return OnnxGraph(graph, folder, self._device, self._threads)
        # Imported here, as it needs onnx, which images of other backends lack.
        from runner.backends.onnxruntime.qnn.htp import compile_graph

        inputs = synthesise(self._job.model, cell, self._job.weights_seed)
        compiled = compile_graph(graph, folder, self._device, self._threads, inputs)
        self.compile_columns = {
            "compile_time_s": compiled.compile_s,
            "cached_compile_time_s": compiled.cached_s,
        }
        self.rewrites = compiled.rewrites
        return compiled.opened


class OnnxSession(GraphSession):
    """The prepared graphs of a job on one device; of loading, `weights` is making sessions."""

    clock_resolution_s = None
    energy_device = EnergyDevice()
    timed_region = (
        "ONNX Runtime's run with IO binding: inputs lie on the device before, outputs in values "
        "there that the binding keeps, and the device is synchronised; sessions are made before"
    )

    def __init__(self, job: Job, threads: int, graphs: Path | None) -> None:
        self.threads = threads
        self.interop_threads = 1
        self._job = job
        cpu_model()  # ahead of the clock: reading what records say is no part of a start
        start = monotonic()
        self._precision = arithmetic_of(job.cells[0])
        self._device = _device_of(job)
        self.device_name = self._device.name
        copies: Region = "host_to_host" if self._device.is_accelerator else "host"
        self.region: Region = copies if self._device.memory == "cpu" else "device"
        self._memory = DriverMemory(self._device.used_bytes)
        self._is_fresh = True
        self.products: Mapping[str, int] | None = None
        instantiated = monotonic()
        self._graphs = OnnxGraphs(job, self._device, threads, graphs)
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": instantiated - start,
            "weights": monotonic() - instantiated,
        }
        self.parameters = self._graphs.latest.graph.parameters

    @property
    def columns(self) -> Mapping[str, object]:
        options = recorded_options(list(self._graphs.latest.sessions.values()), self._device)
        if self._graphs.rewrites:
            options["graph_rewrites"] = "; ".join(self._graphs.rewrites)
        return {
            **graph_columns(self._job, self._graphs.latest.graph),
            **self._graphs.compile_columns,
            "device_uuid": self._device.uuid,
            "software_device": self._device.is_simulated,
            "inference_precision": self._precision,
            "execution_options": options,
        }

    @property
    def libraries(self) -> dict[str, str]:
        return versions(_LIBRARIES)

    def bind(self, cell: Cell, inputs: Inputs) -> OnnxQuery:
        self._is_fresh = False
        return OnnxQuery(self._graphs.of(cell), self._job.model, inputs)

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Query:
        return with_copies(self.bind(cell, inputs))

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Generator:
        new_tokens = tokens_to_generate(cell)
        self._is_fresh = False
        opened = self._graphs.of(cell)
        executors = {part: OnnxExecutor(opened, part) for part in opened.graph.parts}
        loop = DecodeLoop(self._job.model, opened.graph.takes, executors, inputs)
        return GraphGenerator(loop, new_tokens, clock)

    def empty(self) -> Query:
        return empty_query()

    def peak_kernels(self) -> PeakKernels | None:
        return onnx_peaks(self._device, self._job.cells[0].precision, self.threads)

    def outputs_of(self, outputs: Any) -> Outputs:
        return to_host(outputs)

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        opened, repeated = self._graphs.latest, iteration or (lambda: nullcontext(query))
        weights_bytes = sum(part.size_bytes for part in opened.graph.parts.values())

        def look() -> SeenKernels:
            return onnx_kernels(opened, self._device, repeated)

        again = partial(look_again, self._job, weights_bytes, look)
        proof, evidence = prove(query, self._device, again)
        # Once a session, as other sizes change no types; a compiled graph is one node.
        if self.products is None and not self._device.compiles:
            with suppress(Exception):  # whatever ends a profile, it costs no measurement
                if has_room_again(self._job, weights_bytes):
                    self.products = profiled_products(opened, query)
        return proof, {**evidence, "products": format_counts(self.products or {})}

    def trace(self, action: Query, stem: Path) -> None:
        trace(action, self._graphs.latest, stem)

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        del reset  # no peak is kept
        return self._memory.read()

    def trim(self) -> None:
        if not self._is_fresh:
            self._graphs.renew()
            self._is_fresh = True

    def close(self) -> None:
        self._graphs.close()


def open_session(job: Job, threads: int, graphs: Path | None = None) -> OnnxSession:
    if job.cells[0].backend == "qnn":
        try:  # its code, which other jobs do without, is imported before loading is timed
            import_module("runner.backends.onnxruntime.qnn.htp")
        except ModuleNotFoundError as error:
            raise Unavailable(reason("qnn_package_missing", package=error.name)) from error
    return OnnxSession(job, threads, graphs)


def _device_of(job: Job) -> OnnxDevice:
    backend = job.cells[0].backend
    if backend == "qnn":
        from runner.backends.onnxruntime.qnn.htp import qnn_device, require_possible

        require_possible(job)
        return qnn_device()
    return find_cuda_device() if backend == "cuda" else cpu_device()
