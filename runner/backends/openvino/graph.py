"""A prepared graph as OpenVINO has read it, compiled for the shapes that are asked for."""

import gc
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import openvino as ov

from runner.backends.graphs.forward import forward_pass
from runner.backends.graphs.parts import run_parts
from runner.backends.openvino.compile import Compiler
from runner.backends.openvino.device import refusals
from runner.backends.openvino.int8 import Quantized, quantize
from runner.backends.openvino.query import GraphQuery, PartExecutor, Place, Step, placed
from runner.contract.cell import Cell
from runner.contract.graph import Graph, Part, find_graph, first_cell_with_graph
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.inputs import Inputs
from runner.measure.clock import monotonic

Models = Mapping[Part, ov.Model]
Shapes = tuple[tuple[str, str], ...]
"""Names of inputs with their shapes; none where a part stays as dynamic as it was read."""
PREFILL: Part = "prefill"
TURNS = 2
"""Requests of a part that reads what it gave the time before."""


class CompiledPart(NamedTuple):
    """A part, ready to execute."""

    model: ov.Model
    """What was compiled."""
    compiled: ov.CompiledModel
    """The outcome."""
    shapes: Shapes
    """What it was compiled for."""
    duration_ns: int
    """How long setting the shapes and compiling took, nanoseconds."""


def read_models(core: Any, graph: Graph, folder: Path) -> dict[Part, ov.Model]:
    """The graph's parts as OpenVINO understands them.

    Raises:
        Unsupported: it does not.
    """
    with refusals("read the graph"):
        return {name: core.read_model(folder / part.file) for name, part in graph.parts.items()}


class OpenVINOGraph:
    """The parts of one graph.

    A forward pass is compiled anew for the shape of each query: static shapes are the faster ones,
    and the only ones that an NPU takes. What generates stays dynamic, as its cache grows with each
    token. Of what is compiled the last query's is kept, since all of it holds weights of its own,
    and dropped before the next one's is compiled.
    """

    def __init__(
        self,
        spec: ModelSpec,
        graph: Graph,
        models: Models,
        compiler: Compiler,
        quantized: Quantized | None = None,
    ) -> None:
        self.graph = graph
        """What was read."""
        self.quantized = quantized
        """How the models became int8; None in other precisions."""
        self._spec = spec
        self._models = models
        self._compiler = compiler
        self._kept: dict[Part, CompiledPart] = {}
        self._cached_ns: dict[tuple[Shapes, ...], int | None] = {}

    @property
    def shapes(self) -> str:
        """Which shapes its parts are compiled for."""
        if self.graph.content == "generation":
            return "dynamic, as the cache grows with each token"
        return "static, compiled for each shape"

    @property
    def parts(self) -> tuple[CompiledPart, ...]:
        """What is compiled now: every part, for what was asked for last."""
        return tuple(self._kept.values())

    def compile(self, inputs: Inputs) -> None:
        """All that queries over inputs of this shape need, or generation; kept until they come.

        Raises:
            Unsupported: OpenVINO cannot compile it.
        """
        if self.graph.content == "generation":
            self._dynamic()
        else:
            self.query(inputs)

    def cached_ns(self) -> int | None:
        """Nanoseconds that compiling the parts as they are now takes from a cache.

        Measured once for each shape; None where it cannot be.
        """
        shapes = tuple(part.shapes for part in self.parts)
        if shapes not in self._cached_ns:
            size = sum(part.size_bytes for part in self.graph.parts.values())
            models = [part.model for part in self.parts]
            self._cached_ns[shapes] = self._compiler.cached_ns(models, size)
        return self._cached_ns[shapes]

    def query(self, inputs: Inputs) -> GraphQuery:
        """The forward pass over these inputs; what fills a cache gives one as well.

        Raises:
            Unsupported: it takes other inputs, or OpenVINO cannot compile it.
        """
        executed, feeds = forward_pass(self.graph, self._spec, inputs)
        dynamic = self._dynamic() if self.graph.content == "generation" else {}
        idle = [part.compiled for name, part in dynamic.items() if name not in executed.parts]
        return self._query(executed, feeds, idle)

    def executors(self) -> dict[Part, PartExecutor]:
        """Every part, for inputs that change from call to call.

        Raises:
            Unsupported: OpenVINO cannot compile it.
        """
        return {name: self._executor(name, part) for name, part in self._dynamic().items()}

    def _query(
        self, graph: Graph, inputs: Inputs, idle: Iterable[ov.CompiledModel] = ()
    ) -> GraphQuery:
        steps: list[Step] = []

        def call(name: Part) -> Callable[[Mapping[str, Place]], dict[str, Place]]:
            def bind(places: Mapping[str, Place]) -> dict[str, Place]:
                step = step_of(self._compiled(name, self._fixed(places)))
                step.read(places)
                steps.append(step)
                return step.outputs(graph.parts[name].outputs)

            return bind

        places = {name: placed(array) for name, array in inputs.items()}
        outputs = run_parts(graph.takes, {name: call(name) for name in graph.parts}, places)
        return GraphQuery(steps, outputs, idle)

    def _executor(self, name: Part, part: CompiledPart) -> PartExecutor:
        requests = 1 if name == PREFILL else TURNS
        steps = [step_of(part) for _ in range(requests)]
        return PartExecutor(steps, self.graph.parts[name].outputs)

    def _fixed(self, places: Mapping[str, Place]) -> Shapes:
        if self.graph.content == "generation":
            return ()
        return tuple((name, place.shape.to_string()) for name, place in places.items())

    def _dynamic(self) -> dict[Part, CompiledPart]:
        return {name: self._compiled(name, ()) for name in self.graph.parts}

    def _compiled(self, name: Part, shapes: Shapes) -> CompiledPart:
        if name not in self._kept or self._kept[name].shapes != shapes:
            self._drop_from(name)
            self._kept[name] = self._compile(name, shapes)
        return self._kept[name]

    def _drop_from(self, first: Part) -> None:
        """Give up this part and those behind it: their memory is for what is compiled next."""
        names = list(self.graph.parts)
        for name in names[names.index(first) :]:
            self._kept.pop(name, None)

    def _compile(self, name: Part, shapes: Shapes) -> CompiledPart:
        model = self._models[name]
        start = monotonic()
        with refusals(f"compile the graph's part {name}"):
            if shapes:
                model = model.clone()
                model.reshape({input_: ov.PartialShape(shape) for input_, shape in shapes})
            compiled = self._compiler.compile(model)
        return CompiledPart(model, compiled, shapes, monotonic() - start)


def step_of(part: CompiledPart) -> Step:
    """The part with a request of its own."""
    return Step(part.model, part.compiled)


class LoadedGraphs:
    """Reads the first graph at once; those of other shapes when they are first bound.

    Only the latest is kept here, for all of them might fill the memory, and it is dropped before
    the next one is read; queries keep their own.
    """

    def __init__(self, job: Job, core: Any, compiler: Compiler, graphs: Path | None) -> None:
        """Read the first.

        Raises:
            Unsupported: there is none, or OpenVINO cannot read it.
        """
        self._job = job
        self._core = core
        self._compiler = compiler
        self._graphs = graphs
        self.latest: OpenVINOGraph | None = None
        """The graph that was asked for last; None if it could not be read, or all is closed."""
        self.first_cell = first_cell_with_graph(job, graphs)
        """The first of the job's cells that has a graph."""
        self.of(self.first_cell)

    def of(self, cell: Cell) -> OpenVINOGraph:
        """The graph that takes the cell's inputs.

        Raises:
            Unsupported: there is none for its shape, or OpenVINO cannot read it.
        """
        graph, folder = find_graph(self._job, cell, self._graphs)
        if self.latest is None or self.latest.graph.shape != graph.shape:
            if self.latest is not None:
                self.close()
            self.latest = self._read(cell, graph, folder)
        return self.latest

    def close(self) -> None:
        """Drop the graph."""
        self.latest = None
        gc.collect()  # steps that take turns hold each other by what they read

    def _read(self, cell: Cell, graph: Graph, folder: Path) -> OpenVINOGraph:
        models = read_models(self._core, graph, folder)
        if cell.precision != "int8":
            return OpenVINOGraph(self._job.model, graph, models, self._compiler)
        quantized = quantize(self._job, cell, graph, models, self._compiler.compile)
        return OpenVINOGraph(self._job.model, graph, quantized.models, self._compiler, quantized)
