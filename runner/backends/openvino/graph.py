"""Graphs read by OpenVINO, quantised by NNCF, and compiled for the shapes of queries."""

import gc
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import openvino as ov

from runner.backends.graphs.feeds import forward_pass
from runner.backends.graphs.session import run_parts
from runner.backends.openvino.device import Compiler, refusals
from runner.backends.openvino.query import GraphQuery, PartExecutor, PartRequest, Slot, to_slot
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable
from runner.contract.graph import DYNAMIC, Graph, Part, find_graph, first_cell_with_graph
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.inputs import Inputs, calibration_queries
from runner.measure.clock import monotonic, seconds
from runner.measure.environment import versions

_SAMPLES = 8
_SEED_OFFSET = 1_000
"""Added to the job's seed, so that calibration draws other inputs than those measured."""

PartModels = Mapping[Part, ov.Model]
Compile = Callable[[ov.Model], ov.CompiledModel]
_Shapes = tuple[tuple[str, str], ...]
"""Names of inputs with their shapes; empty if a part stays dynamic."""


@dataclass(frozen=True)
class Quantized:
    """Parts in int8, and the method of their quantisation."""

    models: PartModels
    method: str
    activations: bool
    """True if activations are int8 as well as weights, so that products take int8."""
    duration_s: float


def quantize(job: Job, cell: Cell, graph: Graph, models: PartModels, make: Compile) -> Quantized:
    """Parts in int8; of a generating graph weights alone, as tokens would calibrate its cache."""
    try:
        import nncf
    except ModuleNotFoundError as error:
        raise Unavailable(reason("int8_package_missing", package=error.name)) from error
    nncf.set_log_level(logging.ERROR)
    activations = graph.content == "forward"
    start = monotonic()
    with refusals("quantise the graph with NNCF"):
        if not activations:
            how = "weights alone, int8_asym per channel"
            parts = {name: nncf.compress_weights(model.clone()) for name, model in models.items()}
        else:
            how = (
                "post-training, preset mixed, model type transformer, "
                f"{_SAMPLES} seeded samples drawn as inputs are, half padded"
            )
            samples = calibration(job, cell, graph, models, make)
            parts = {
                name: nncf.quantize(
                    model,
                    nncf.Dataset(list(samples[name])),
                    preset=nncf.QuantizationPreset.MIXED,
                    subset_size=_SAMPLES,
                    model_type=nncf.ModelType.TRANSFORMER,
                )
                for name, model in models.items()
            }
    version = versions(["nncf"]).get("nncf", "")
    duration_s = seconds(monotonic() - start)
    return Quantized(parts, f"NNCF {version}, {how}", activations, duration_s)


def calibration(
    job: Job, cell: Cell, graph: Graph, models: PartModels, make: Compile
) -> dict[Part, list[Inputs]]:
    """Each part's inputs over queries of the cell's shape; single samples if that is open."""
    samples: dict[Part, list[Inputs]] = {name: [] for name in models}
    last = list(models)[-1]
    compiled = {name: make(model) for name, model in models.items() if name != last}

    def record(name: Part, inputs: Inputs) -> Inputs:
        samples[name].append(inputs)
        if name == last:
            return {}
        given = compiled[name](dict(inputs))
        return {output: given[output] for output in graph.parts[name].outputs}

    calls = {name: partial(record, name) for name in models}
    single = cell.model_copy(update={"batch_size": 1}) if graph.shape == DYNAMIC else cell
    seeds = range(job.weights_seed + _SEED_OFFSET, job.weights_seed + _SEED_OFFSET + _SAMPLES)
    for inputs in calibration_queries(job.model, single, seeds):
        run_parts(graph.takes, calls, inputs)
    return samples


class CompiledPart(NamedTuple):
    """A part, ready to execute."""

    model: ov.Model
    compiled: ov.CompiledModel
    shapes: _Shapes
    duration_ns: int


def read_graph_models(core: Any, graph: Graph, folder: Path) -> dict[Part, ov.Model]:
    with refusals("read the graph"):
        return {name: core.read_model(folder / part.file) for name, part in graph.parts.items()}


class OpenVINOGraph:
    """The parts of one graph, compiled for each query's shape, which is faster and all an NPU
    takes.

    A generating graph stays dynamic, as its cache grows. Compiled models hold weights, so those of
    the last query alone are kept, and dropped before the next are compiled.
    """

    def __init__(
        self,
        spec: ModelSpec,
        graph: Graph,
        models: PartModels,
        compiler: Compiler,
        quantized: Quantized | None = None,
    ) -> None:
        self.graph = graph
        self.quantized = quantized
        self._spec = spec
        self._models = models
        self._compiler = compiler
        self._kept: dict[Part, CompiledPart] = {}
        self._cached_ns: dict[tuple[_Shapes, ...], int | None] = {}

    @property
    def shapes(self) -> str:
        if self.graph.content == "generation":
            return "dynamic, as the cache grows with each token"
        return "static, compiled for each shape"

    @property
    def parts(self) -> tuple[CompiledPart, ...]:
        return tuple(self._kept.values())

    def compile(self, inputs: Inputs) -> None:
        """Compile the parts for queries over inputs of this shape, or for generation."""
        if self.graph.content == "generation":
            self._dynamic()
        else:
            self.query(inputs)

    def cached_ns(self) -> int | None:
        """Nanoseconds to compile the present parts from a cache; None if it cannot be measured."""
        shapes = tuple(part.shapes for part in self.parts)
        if shapes not in self._cached_ns:
            size = sum(part.size_bytes for part in self.graph.parts.values())
            models = [part.model for part in self.parts]
            self._cached_ns[shapes] = self._compiler.cached_ns(models, size)
        return self._cached_ns[shapes]

    def query(self, inputs: Inputs) -> GraphQuery:
        """The forward pass over these inputs; the part that fills a cache computes one as well."""
        executed, feeds = forward_pass(self.graph, self._spec, inputs)
        generates = self.graph.content == "generation"
        dynamic = self._dynamic() if generates else {}
        idle = [part.compiled for name, part in dynamic.items() if name not in executed.parts]
        requests: list[PartRequest] = []

        def bind(name: Part, slots: Mapping[str, Slot]) -> dict[str, Slot]:
            shapes = ((key, slot.shape.to_string()) for key, slot in slots.items())
            part = self._compiled(name, () if generates else tuple(shapes))
            request = PartRequest(part.model, part.compiled)
            request.read(slots)
            requests.append(request)
            return request.outputs(executed.parts[name].outputs)

        slots = {name: to_slot(array) for name, array in feeds.items()}
        calls = {name: partial(bind, name) for name in executed.parts}
        return GraphQuery(requests, run_parts(executed.takes, calls, slots), idle)

    def executors(self) -> dict[Part, PartExecutor]:
        executors = {}
        for name, part in self._dynamic().items():
            # Two take turns where a part reads its own outputs of the call before.
            count = 1 if name == "prefill" else 2
            requests = [PartRequest(part.model, part.compiled) for _ in range(count)]
            executors[name] = PartExecutor(requests, self.graph.parts[name].outputs)
        return executors

    def _dynamic(self) -> dict[Part, CompiledPart]:
        return {name: self._compiled(name, ()) for name in self.graph.parts}

    def _compiled(self, name: Part, shapes: _Shapes) -> CompiledPart:
        if name not in self._kept or self._kept[name].shapes != shapes:
            # This part and those behind it are dropped, to free memory for the next compilation.
            names = list(self.graph.parts)
            for later in names[names.index(name) :]:
                self._kept.pop(later, None)
            self._kept[name] = self._compile(name, shapes)
        return self._kept[name]

    def _compile(self, name: Part, shapes: _Shapes) -> CompiledPart:
        model = self._models[name]
        start = monotonic()
        with refusals(f"compile the graph's part {name}"):
            if shapes:
                model = model.clone()
                model.reshape({input_: ov.PartialShape(shape) for input_, shape in shapes})
            compiled = self._compiler.compile(model)
        return CompiledPart(model, compiled, shapes, monotonic() - start)


class OpenVINOGraphs:
    """The graphs of a job, each read when a cell of its shape is bound, the one before dropped."""

    def __init__(self, job: Job, core: Any, compiler: Compiler, graphs: Path | None) -> None:
        self._job = job
        self._core = core
        self._compiler = compiler
        self._graphs = graphs
        self.latest: OpenVINOGraph | None = None
        """The graph that was read last; None if reading failed, or after `close`."""
        self.first_cell = first_cell_with_graph(job, graphs)
        self.of(self.first_cell)

    def of(self, cell: Cell) -> OpenVINOGraph:
        graph, folder = find_graph(self._job, cell, self._graphs)
        if self.latest is None or self.latest.graph.shape != graph.shape:
            if self.latest is not None:
                self.close()
            self.latest = self._read(cell, graph, folder)
        return self.latest

    def close(self) -> None:
        self.latest = None
        gc.collect()  # requests that take turns hold each other by their inputs

    def _read(self, cell: Cell, graph: Graph, folder: Path) -> OpenVINOGraph:
        models, quantized = read_graph_models(self._core, graph, folder), None
        if cell.precision == "int8":
            quantized = quantize(self._job, cell, graph, models, self._compiler.compile)
            models = dict(quantized.models)
        return OpenVINOGraph(self._job.model, graph, models, self._compiler, quantized)
