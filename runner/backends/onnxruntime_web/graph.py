"""A prepared graph in a page, with one session for each part and one shape."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import onnx

from runner.backends.base import Stage
from runner.backends.graphs.feeds import Feeds
from runner.backends.graphs.generation import PAST, PRESENT
from runner.backends.onnxruntime_web.page import PageError, WebPage, nanoseconds
from runner.contract.axes import Backend
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, GraphPart, Part
from runner.contract.reasons import reason
from runner.contract.web.pages import web_session_options

_VERBOSE = {"logSeverityLevel": 0, "logVerbosityLevel": 0}
"""The levels at which the runtime tells where it places nodes."""
_ON_DEVICE: Mapping[Backend, str] = {"webgpu": "gpu-buffer", "webnn": "ml-tensor"}
"""The runtime's name for the memory of each backend's device."""
FixedSizes = Literal[
    "fixed as the graph is loaded", "one session for each length of the cache", "open"
]
_MEMORY_WORDS = ("out of memory", "bad_alloc", "allocation failed", "Out of memory")


class WebGraph:
    """The sessions of a graph's parts in a page."""

    def __init__(
        self, page: WebPage, backend: Backend, graph: Graph, folder: Path, feeds: Feeds
    ) -> None:
        self.page, self.graph, self.backend = page, graph, backend
        sizes = _sizes_of(graph, backend)
        parts = [
            _described(page, str(name), part, folder, feeds, sizes)
            | {"locations": cache_locations(graph, name, backend) or None}
            for name, part in graph.parts.items()
        ]
        options = {**web_session_options(backend), **(_VERBOSE if page.is_verbose else {})}
        try:
            opened = page.call("open", {"parts": parts, "options": options})
        except PageError as error:
            raise graph_refusal(backend, error) from error
        self.id: int = opened["id"]
        self.sizes = sizes
        self.caches: str | None = None
        """The memory that caches lie in between two steps; None before any step."""
        self.stages_ns: Mapping[Stage, int] = {
            name: nanoseconds(duration) for name, duration in opened["stages"].items()
        }

    @property
    def makes_sessions_late(self) -> bool:
        return self.sizes.startswith("one session")

    def close(self) -> None:
        self.page.call("release", self.id)


def graph_refusal(backend: Backend, error: PageError) -> Exception:
    """The refusal of a graph in the provider's words; the error itself where memory ran out."""
    if is_out_of_memory(error):
        return error
    return Unsupported(reason("page_refuses_graph", backend=backend, error=error))


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, PageError) and any(word in str(error) for word in _MEMORY_WORDS)


def symbolic_sizes(model: onnx.ModelProto, feeds: Feeds) -> dict[str, int]:
    """The sizes of a graph's symbolic dimensions, as far as these inputs tell them."""
    sizes: dict[str, int] = {}
    for value in model.graph.input:
        if value.name in feeds:
            dimensions = value.type.tensor_type.shape.dim
            for dimension, size in zip(dimensions, feeds[value.name].shape, strict=True):
                if dimension.dim_param:
                    sizes[dimension.dim_param] = size
    return sizes


def open_sizes(model: onnx.ModelProto) -> dict[str, list[str]]:
    """The symbolic dimensions of each input that has some, by axis; empty where one is fixed."""
    shapes = {
        value.name: [dimension.dim_param for dimension in value.type.tensor_type.shape.dim]
        for value in model.graph.input
    }
    return {name: symbols for name, symbols in shapes.items() if any(symbols)}


def cache_locations(graph: Graph, name: Part, backend: Backend) -> dict[str, str]:
    """The memories of those outputs of a part that the next step takes; of no others."""
    location = _ON_DEVICE.get(backend)
    if location is None or graph.content != "generation":
        return {}
    taken = {cache.removeprefix(PAST) for cache in graph.takes.get("decode", ())}
    outputs = graph.parts[name].outputs
    return {output: location for output in outputs if output.removeprefix(PRESENT) in taken}


def _sizes_of(graph: Graph, backend: Backend) -> FixedSizes:
    if graph.content == "forward":
        return "fixed as the graph is loaded"
    return "one session for each length of the cache" if backend == "webnn" else "open"


def _described(
    page: WebPage, name: str, part: GraphPart, folder: Path, feeds: Feeds, sizes: FixedSizes
) -> dict[str, Any]:
    model = onnx.load(folder / part.file, load_external_data=False)
    is_fixed, of_each = sizes == "fixed as the graph is loaded", sizes.startswith("one session")
    return {
        "name": name,
        "url": page.file(folder / part.file),
        "weights": [
            {"path": location, "url": page.file(folder / location)}
            for location in external_files(model)
        ],
        "overrides": symbolic_sizes(model, feeds) if is_fixed else {},
        "symbols": open_sizes(model) if of_each else None,
    }


def external_files(model: onnx.ModelProto) -> list[str]:
    """The names of the files that hold a graph's weights: parts may share one."""
    names = sorted(
        {
            entry.value
            for weights in model.graph.initializer
            for entry in weights.external_data
            if entry.key == "location"
        }
    )
    for name in names:
        if Path(name).name != name:
            raise Unsupported(reason("graph_weights_outside", name=name))
    return names
