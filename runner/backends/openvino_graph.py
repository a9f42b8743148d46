"""A prepared graph as OpenVINO has read it, compiled for the shapes that are asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import openvino as ov

from runner.backends.graph_generation_feeds import forward_feeds
from runner.backends.openvino_compile import Compiler
from runner.backends.openvino_errors import refusals
from runner.backends.openvino_query import GraphQuery, PartExecutor
from runner.backends.openvino_step import Place, Step, placed
from runner.graph import Graph, Part
from runner.graph_parts import run_parts
from runner.inputs import Inputs
from runner.models import ModelSpec

Models = Mapping[Part, ov.Model]
Shapes = tuple[tuple[str, str], ...]
"""Names of inputs with their shapes; none where a part stays as dynamic as it was read."""
PREFILL: Part = "prefill"


class CompiledPart(NamedTuple):
    """A part, ready to execute."""

    model: ov.Model
    """What was compiled."""
    compiled: ov.CompiledModel
    """The outcome."""


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
    token. Of what is compiled the last query's is kept, since all of it holds weights of its own.
    """

    def __init__(self, spec: ModelSpec, graph: Graph, models: Models, compiler: Compiler) -> None:
        self.graph = graph
        """What was read."""
        self._spec = spec
        self._models = models
        self._compiler = compiler
        self._kept: dict[tuple[Part, Shapes], CompiledPart] = {}

    @property
    def shapes(self) -> str:
        """Which shapes its parts are compiled for."""
        if self.graph.content == "generation":
            return "dynamic, as the cache grows with each token"
        return "static, compiled for each shape"

    def compile(self, inputs: Inputs) -> list[CompiledPart]:
        """All that queries over inputs of this shape need, or generation; kept until they come.

        Raises:
            Unsupported: OpenVINO cannot compile it.
        """
        if self.graph.content == "generation":
            return [self._compiled(name, (), self._kept) for name in self.graph.parts]
        return [CompiledPart(step.model, step.compiled) for step in self.query(inputs).steps]

    def query(self, inputs: Inputs) -> GraphQuery:
        """The forward pass over these inputs; what fills a cache gives one as well.

        Raises:
            Unsupported: OpenVINO cannot compile it.
        """
        if self.graph.content == "forward":
            return self._query(self.graph, inputs)
        alone = self.graph.model_copy(update={"parts": {PREFILL: self.graph.parts[PREFILL]}})
        return self._query(alone, forward_feeds(self._spec, alone.parts[PREFILL].inputs, inputs))

    def executors(self) -> dict[Part, PartExecutor]:
        """Every part, for inputs that change from call to call.

        Raises:
            Unsupported: OpenVINO cannot compile it.
        """
        return {name: self._executor(name) for name in self.graph.parts}

    def _query(self, graph: Graph, inputs: Inputs) -> GraphQuery:
        earlier = self._kept
        if graph.content == "forward":
            self._kept = {}
        steps: list[Step] = []

        def call(name: Part) -> Callable[[Mapping[str, Place]], dict[str, Place]]:
            def bind(places: Mapping[str, Place]) -> dict[str, Place]:
                step = Step(*self._compiled(name, self._fixed(places), earlier))
                step.read(places)
                steps.append(step)
                return step.outputs(graph.parts[name].outputs)

            return bind

        places = {name: placed(array) for name, array in inputs.items()}
        outputs = run_parts(graph, {name: call(name) for name in graph.parts}, places)
        return GraphQuery(steps, outputs)

    def _executor(self, name: Part) -> PartExecutor:
        compiled = self._compiled(name, (), self._kept)
        return PartExecutor((Step(*compiled), Step(*compiled)), self.graph.parts[name].outputs)

    def _fixed(self, places: Mapping[str, Place]) -> Shapes:
        if self.graph.content == "generation":
            return ()
        return tuple((name, place.shape.to_string()) for name, place in places.items())

    def _compiled(
        self, name: Part, shapes: Shapes, earlier: Mapping[tuple[Part, Shapes], CompiledPart]
    ) -> CompiledPart:
        key = (name, shapes)
        self._kept[key] = earlier.get(key) or self._compile(name, shapes)
        return self._kept[key]

    def _compile(self, name: Part, shapes: Shapes) -> CompiledPart:
        model = self._models[name]
        with refusals(f"compile the graph's part {name}"):
            if shapes:
                model = model.clone()
                model.reshape({input_: ov.PartialShape(shape) for input_, shape in shapes})
            return CompiledPart(model, self._compiler.compile(model))
