"""A session of OpenVINO over the prepared graphs of a job."""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import openvino as ov

from runner.backends.base import Generator, Iteration, ProofEvidence, Query, Region, Stage
from runner.backends.evidence import SeenKernels, look_again
from runner.backends.graphs.generation import DecodeLoop, GraphGenerator
from runner.backends.graphs.session import GraphSession, Outputs, graph_columns
from runner.backends.openvino.device import (
    Compiler,
    arithmetic_of_compiled,
    base_name,
    find_openvino_device,
    identity_model,
    product_types,
)
from runner.backends.openvino.evidence import openvino_kernels, prove, trace
from runner.backends.openvino.graph import CompiledPart, OpenVINOGraph, OpenVINOGraphs, Quantized
from runner.backends.openvino.peaks import openvino_peaks
from runner.backends.openvino.query import GraphQuery, PartRequest, identity_query, to_arrays
from runner.backends.peaks import PeakKernels
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Job, chosen_device
from runner.contract.reasons import reason
from runner.inputs import Inputs, synthesise, tokens_to_generate
from runner.measure.clock import Clock, monotonic, seconds
from runner.measure.energy import EnergyDevice
from runner.measure.environment import versions

_OPTIONS = (
    "INFERENCE_PRECISION_HINT",
    "PERFORMANCE_HINT",
    "NUM_STREAMS",
    _THREADS := "INFERENCE_NUM_THREADS",
    "EXECUTION_MODE_HINT",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "SCHEDULING_CORE_TYPE",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "KV_CACHE_PRECISION",
)
"""The properties of a compiled model that are recorded, if it has them."""
_MEMBER = re.compile(r"<\w+\.(\w+): -?\d+>")
"""The representation of a member of an enumeration in Python."""
_LIBRARIES = ("openvino", "nncf", "numpy")


def compiled_columns(
    parts: Sequence[CompiledPart], shapes: str, quantized: Quantized | None
) -> dict[str, object]:
    options = {**_options_of(parts[0].compiled), "shapes": shapes}
    precision = "+".join(sorted({arithmetic_of_compiled(part.compiled) for part in parts}))
    if quantized is not None:
        options["nncf_quantize_s"] = f"{quantized.duration_s:.1f}"
        precision = f"{precision}, int8 in {_int8_products(parts)} products"
    return {
        "quantization": None if quantized is None else quantized.method,
        "inference_precision": precision,
        "execution_options": options,
        "compile_time_s": seconds(sum(part.duration_ns for part in parts)),
    }


def require_int8(parts: Sequence[CompiledPart], quantized: Quantized | None) -> None:
    """Require that a graph with activations in int8 is executed in int8."""
    if quantized is not None and quantized.activations and not _int8_products(parts):
        raise Unsupported(reason("openvino_no_int8"))


def _options_of(compiled: ov.CompiledModel) -> dict[str, str]:
    known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
    return {name: _text(compiled.get_property(name)) for name in _OPTIONS if name in known}


def _int8_products(parts: Sequence[CompiledPart]) -> int:
    return product_types(part.compiled for part in parts)["int8"]


def _text(value: object) -> str:
    """A property in OpenVINO's own words: `f32`, `ANY_CORE`, `LATENCY`."""
    if isinstance(value, ov.Type):
        return str(value.to_string())
    member = _MEMBER.fullmatch(repr(value))
    return member[1] if member else str(value)


class OpenVINOSession(GraphSession):
    """The prepared graphs of a job on one device; of loading, `weights` is compiling the first."""

    interop_threads = None
    clock_resolution_s = None
    products: Mapping[str, int] | None = None
    timed_region = (
        "OpenVINO's synchronous infer: inputs lie in host memory that the request reads, outputs "
        "in the request's own, which it keeps; copies to a device and conversion to its precision "
        "are inside; models are compiled before"
    )

    def __init__(self, job: Job, threads: int, graphs: Path | None) -> None:
        self._job = job
        start = monotonic()
        core = ov.Core()
        self._device = find_openvino_device(core, chosen_device("openvino"))
        self._compiler = Compiler(core, self._device, job.cells[0].precision, threads)
        self._graphs = OpenVINOGraphs(job, core, self._compiler, graphs)
        read = monotonic()
        cell = self._graphs.first_cell
        opened = self._graphs.of(cell)
        inputs = synthesise(job.model, cell, job.weights_seed)
        begin = monotonic()
        opened.compile(inputs)
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": read - start,
            "weights": monotonic() - begin,
        }
        self.parameters = opened.graph.parameters
        reported = _options_of(opened.parts[0].compiled).get(_THREADS)
        self.threads = None if reported is None else int(reported)
        self.device_name = self._device.device_name
        self.energy_device = EnergyDevice(self._device.is_discrete, self._device.pci_address)
        is_cpu = base_name(self._device.name) == "CPU"
        self.region: Region = "host" if is_cpu else "host_to_host"
        self._requests: tuple[PartRequest, ...] = ()

    @property
    def libraries(self) -> dict[str, str]:
        return versions(_LIBRARIES)

    @property
    def columns(self) -> Mapping[str, object]:
        """Those of the cell bound last; none while no part is compiled.

        In mode `startup` the graph is compiled twice more here, to measure a warm cache.
        """
        opened = self._graphs.latest
        if opened is None or not opened.parts:
            return {}
        starts = self._job.cells[0].mode == "startup"
        cached_ns = opened.cached_ns() if starts else None
        return {
            **self._device.columns,
            **graph_columns(self._job, opened.graph),
            **compiled_columns(opened.parts, opened.shapes, opened.quantized),
            "cached_compile_time_s": None if cached_ns is None else seconds(cached_ns),
        }

    def bind(self, cell: Cell, inputs: Inputs) -> GraphQuery:
        opened = self._open(cell)
        query = opened.query(inputs)
        require_int8(opened.parts, opened.quantized)
        self._requests = query.requests
        return query

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> GraphQuery:
        return self.bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Generator:
        new_tokens = tokens_to_generate(cell)
        opened = self._open(cell)
        executors = opened.executors()
        self._requests = tuple(r for part in executors.values() for r in part.requests)
        loop = DecodeLoop(self._job.model, opened.graph.takes, executors, inputs)
        return GraphGenerator(loop, new_tokens, clock)

    def empty(self) -> GraphQuery:
        model = identity_model()
        return identity_query(model, self._compiler.compile(model))

    def peak_kernels(self) -> PeakKernels:
        return openvino_peaks(self._compiler, self._device.name, self._job.cells[0].precision)

    def outputs_of(self, outputs: Any) -> Outputs:
        return to_arrays(outputs)

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        repeated = iteration or (lambda: nullcontext(query))
        opened = self._graphs.latest
        parts = opened.graph.parts.values() if opened else ()

        def look() -> SeenKernels:
            # A generation binds requests of its own.
            return openvino_kernels(repeated, lambda: self._requests, self._compiler)

        weights_bytes = sum(part.size_bytes for part in parts)
        if isinstance(query, GraphQuery):
            self.products = product_types(query.compiled)
        return prove(query, self._device, lambda: look_again(self._job, weights_bytes, look))

    def trace(self, action: Query, stem: Path) -> None:
        trace(action, self._requests, self._compiler, stem)

    def trim(self) -> None:
        """Do nothing: a request's memory goes with it, or when another shape is compiled."""

    def close(self) -> None:
        self._requests = ()
        self._graphs.close()

    def _open(self, cell: Cell) -> OpenVINOGraph:
        """The cell's graph, after this session has dropped its requests over the graph before."""
        self._requests = ()
        return self._graphs.of(cell)


def open_session(job: Job, threads: int, graphs: Path | None = None) -> OpenVINOSession:
    cell = job.cells[0]
    if cell.backend != "openvino":
        raise Unsupported(reason("no_device_for_backend", runtime="openvino", backend=cell.backend))
    if (cell.mode, cell.precision) == ("startup", "int8"):
        raise Unsupported(reason("int8_start"))
    return OpenVINOSession(job, threads, graphs)
