"""Prepared graphs in a page, and queries and generations that it executes and times."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx

from runner.backends.base import FloatArray, Generated, Stage
from runner.backends.graphs.feeds import (
    POSITIONS,
    Feeds,
    Tokens,
    forward_pass,
    position_ids,
    prompt_inputs,
    select_inputs,
    token_input,
)
from runner.backends.graphs.generation import PAST, PRESENT
from runner.backends.graphs.session import Outputs
from runner.backends.onnxruntime_web.page import NS_PER_MS, PageError, WebPage, nanoseconds
from runner.contract.axes import Backend
from runner.contract.errors import TimedOut, Unsupported
from runner.contract.graph import Graph, GraphPart, Part
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason
from runner.contract.web import web_session_options
from runner.inputs import Inputs
from runner.measure.clock import NANOSECONDS

_FixedSizes = Literal[
    "fixed as the graph is loaded", "one session for each length of the cache", "open"
]
_MEMORY_WORDS = ("out of memory", "bad_alloc", "allocation failed", "Out of memory")
_SLICE_MS = 500
"""Time of iterations that the page is asked for at once; the way to it takes little of it."""
SILENT_AFTER_S = 30
_LONGEST = 100
"""A page is silent after so many seconds, and so many times as long as its longest iteration."""


class WebGraph:
    """The sessions of a graph's parts in a page."""

    def __init__(
        self, page: WebPage, backend: Backend, graph: Graph, folder: Path, feeds: Feeds
    ) -> None:
        self.page, self.graph, self.backend = page, graph, backend
        sizes: _FixedSizes = "fixed as the graph is loaded"
        if graph.content == "generation":
            is_webnn = backend == "webnn"
            sizes = "one session for each length of the cache" if is_webnn else "open"
        parts = [
            _described(page, str(name), part, folder, feeds, sizes)
            | {"locations": _cache_locations(graph, name, backend) or None}
            for name, part in graph.parts.items()
        ]
        # At these levels the runtime tells where it places nodes.
        levels = {"logSeverityLevel": 0, "logVerbosityLevel": 0} if page.is_verbose else {}
        options = {**web_session_options(backend), **levels}
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


def _symbolic_sizes(model: onnx.ModelProto, feeds: Feeds) -> dict[str, int]:
    """The sizes of a graph's symbolic dimensions, as far as these inputs tell them."""
    sizes: dict[str, int] = {}
    for value in model.graph.input:
        if value.name in feeds:
            dimensions = value.type.tensor_type.shape.dim
            for dimension, size in zip(dimensions, feeds[value.name].shape, strict=True):
                if dimension.dim_param:
                    sizes[dimension.dim_param] = size
    return sizes


def _open_sizes(model: onnx.ModelProto) -> dict[str, list[str]]:
    """The symbolic dimensions of each input that has some, by axis; empty where one is fixed."""
    shapes = {
        value.name: [dimension.dim_param for dimension in value.type.tensor_type.shape.dim]
        for value in model.graph.input
    }
    return {name: symbols for name, symbols in shapes.items() if any(symbols)}


def _cache_locations(graph: Graph, name: Part, backend: Backend) -> dict[str, str]:
    """The memories of those outputs of a part that the next step takes; of no others."""
    location = {"webgpu": "gpu-buffer", "webnn": "ml-tensor"}.get(backend)
    if location is None or graph.content != "generation":
        return {}
    taken = {cache.removeprefix(PAST) for cache in graph.takes.get("decode", ())}
    outputs = graph.parts[name].outputs
    return {output: location for output in outputs if output.removeprefix(PRESENT) in taken}


def _described(
    page: WebPage, name: str, part: GraphPart, folder: Path, feeds: Feeds, sizes: _FixedSizes
) -> dict[str, Any]:
    model = onnx.load(folder / part.file, load_external_data=False)
    is_fixed, of_each = sizes == "fixed as the graph is loaded", sizes.startswith("one session")
    return {
        "name": name,
        "url": page.server.add_file(folder / part.file),
        "weights": [
            {"path": location, "url": page.server.add_file(folder / location)}
            for location in external_files(model)
        ],
        "overrides": _symbolic_sizes(model, feeds) if is_fixed else {},
        "symbols": _open_sizes(model) if of_each else None,
    }


def external_files(model: onnx.ModelProto) -> list[str]:
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


class PageQuery:
    """A query that lies in a page, and that the page times."""

    def __init__(self, page: WebPage, number: int) -> None:
        self._page, self._number = page, number

    def __call__(self) -> Outputs:
        return self._page.outputs("post", self._number)

    def series(self, least: int, min_ns: int, max_ns: int) -> list[int]:
        """Nanoseconds of at least so many iterations, which take `min_ns` and end at `max_ns`."""
        durations: list[int] = []
        total = 0
        while total < max_ns and (len(durations) < least or total < min_ns):
            wanted = {
                "least": least - len(durations),
                "minimum": (min_ns - total) / NS_PER_MS,
                "most": (max_ns - total) / NS_PER_MS,
                "slice": _SLICE_MS,
            }
            durations += map(nanoseconds, self._slice(wanted, durations))
            total = sum(durations)
        return durations

    def _slice(self, wanted: Mapping[str, float], ended_ns: Sequence[int]) -> list[float]:
        """Milliseconds of the iterations of one slice; a page that fell silent is noticed soon."""
        patience_s = self._page.limits.answer_s
        if ended_ns:
            patience_s = min(patience_s, SILENT_AFTER_S + _LONGEST * max(ended_ns) / NANOSECONDS)
        call = self._page.call
        try:
            answer: list[float] = call("series", self._number, wanted, seconds=patience_s)
        except TimedOut as silence:
            silence.ended_ns = ended_ns
            raise
        return answer


def bind_query(graph: WebGraph, model: ModelSpec, inputs: Inputs) -> PageQuery:
    passed, feeds = forward_pass(graph.graph, model, inputs)
    parts = [{"name": name, "inputs": list(part.inputs)} for name, part in passed.parts.items()]
    page = graph.page
    number: int = page.call("bind", graph.id, {"parts": parts, "inputs": _arrays(page, feeds)})
    page.server.forget()
    return PageQuery(page, number)


class WebGenerator:
    """Takes the most likely token again and again; caches lie where the provider takes them."""

    def __init__(self, graph: WebGraph, model: ModelSpec, inputs: Inputs, new_tokens: int) -> None:
        takes = graph.graph.takes
        if not {"prefill", "decode"} <= takes.keys():
            raise Unsupported(reason("graph_lacks_cache", model=model.name))
        steps = takes["decode"]
        caches = [name for name in steps if name.startswith(PAST)]
        changing = {token_input(model), POSITIONS, *caches}
        prompt = select_inputs(takes["prefill"], prompt_inputs(model, inputs))
        constants = select_inputs([name for name in steps if name not in changing], inputs)
        self._page, self._graph = graph.page, graph
        options: dict[str, object] = {
            "newTokens": new_tokens,
            "tokenInput": token_input(model),
            "caches": caches,
            "prompt": _arrays(self._page, prompt),
            "constants": _arrays(self._page, constants),
            "positions": None,
        }
        if POSITIONS in steps:  # of the prompt's last tokens: the page adds 1 for each new one
            last = position_ids(model, inputs)[..., -1:]
            options["positions"] = {"values": last.ravel().tolist(), "dims": list(last.shape)}
        try:
            self._number: int = self._page.call("bindGeneration", graph.id, options)
        except PageError as error:  # some sessions are made there
            raise graph_refusal(graph.backend, error) from error
        self._page.server.forget()

    def __call__(self) -> Generated:
        answer = self._page.call("generate", self._number)
        location, refusal = answer["caches"]["location"], answer["caches"]["refusal"]
        because = f", as the provider refuses its own memory: {refusal}" if refusal else ""
        self._graph.caches = f"{location}{because}"
        times = [*map(nanoseconds, answer["times"])]
        return Generated(0, times, np.array(answer["tokens"], np.int64).T)

    def forced(self, tokens: Tokens) -> FloatArray:
        steps = self._page.posted("forced", self._number, {"tokens": tokens.T.tolist()})
        return np.stack([step[:, -1].astype(np.float32) for step in steps], axis=1)


def _arrays(page: WebPage, feeds: Feeds) -> Mapping[str, object]:
    return {name: page.array(array) for name, array in feeds.items()}
