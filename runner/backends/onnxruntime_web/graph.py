"""A prepared graph in a page, with one session for each part and one shape."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from runner.backends.graphs.feeds import Feeds
from runner.backends.onnxruntime_web.page import PageError, WebPage
from runner.contract.axes import Backend
from runner.contract.errors import Unsupported
from runner.contract.graph import PART_WEIGHTS_SUFFIX, Graph, GraphPart

_PROVIDERS: Mapping[Backend, object] = {
    "wasm": "wasm",
    "webgpu": "webgpu",
    "webnn": {"name": "webnn", "deviceType": "cpu"},
}
_MEMORY_WORDS = ("out of memory", "bad_alloc", "allocation failed", "Out of memory")


class WebGraph:
    """The sessions of a graph's parts in a page."""

    def __init__(
        self, page: WebPage, backend: Backend, graph: Graph, folder: Path, feeds: Feeds
    ) -> None:
        """Load every part for the shapes of these feeds.

        Raises:
            Unsupported: the provider refuses it, in its own words.
        """
        self.page, self.graph = page, graph
        parts = [
            _described(page, str(name), part, folder, feeds) for name, part in graph.parts.items()
        ]
        options = {"executionProviders": [_PROVIDERS[backend]], "extra": _extra(backend)}
        try:
            opened = page.call("open", {"parts": parts, "options": options})
        except PageError as error:
            if is_out_of_memory(error):
                raise
            raise Unsupported(f"{backend} refuses the graph: {error}") from error
        self.id: int = opened["id"]
        self.weights_ns = round(opened["stages"]["weights"] * 1e6)
        self.instantiate_ns = round(opened["stages"]["instantiate"] * 1e6)

    def close(self) -> None:
        """Release the sessions."""
        self.page.call("release", self.id)


def is_out_of_memory(error: BaseException) -> bool:
    """True if it is a page's error that says that memory ran out."""
    return isinstance(error, PageError) and any(word in str(error) for word in _MEMORY_WORDS)


def dimension_sizes(model: onnx.ModelProto, feeds: Feeds) -> dict[str, int]:
    """The sizes of a graph's symbolic dimensions, as far as these inputs tell them."""
    sizes: dict[str, int] = {}
    for value in model.graph.input:
        if value.name in feeds:
            dimensions = value.type.tensor_type.shape.dim
            for dimension, size in zip(dimensions, feeds[value.name].shape, strict=True):
                if dimension.dim_param:
                    sizes[dimension.dim_param] = size
    return sizes


def _described(
    page: WebPage, name: str, part: GraphPart, folder: Path, feeds: Feeds
) -> dict[str, Any]:
    file, *weights = part.files(folder)
    model = onnx.load(file, load_external_data=False)
    return {
        "name": name,
        "url": page.file(file),
        "weights": [
            {"path": f"{part.file}{PART_WEIGHTS_SUFFIX}", "url": page.file(path)}
            for path in weights
        ],
        "overrides": dimension_sizes(model, feeds),
    }


def _extra(backend: Backend) -> dict[str, Any]:
    """No provider but WebGPU may leave nodes to the CPU: that one does so with a few by design."""
    return {"session": {"disable_cpu_ep_fallback": "1"}} if backend == "webnn" else {}
