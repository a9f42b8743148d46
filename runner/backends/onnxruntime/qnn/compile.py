"""Graphs compiled for the HTP: rewritten for its compiler, with fixed sizes."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NoSuchFile

from runner.backends.onnxruntime.device import OnnxDevice, cpu_device
from runner.backends.onnxruntime.graph import OnnxGraph, context_file
from runner.backends.onnxruntime.qnn.rewrites import write_for_htp
from runner.backends.onnxruntime.sessions import DimensionSizes, create_session, session_options
from runner.contract.errors import Unsupported
from runner.contract.graph import DYNAMIC, Graph
from runner.inputs import Inputs
from runner.measure.clock import monotonic, seconds


@dataclass(frozen=True)
class CompiledGraph:
    """A graph that was compiled for the HTP."""

    opened: OnnxGraph
    compile_s: float
    """Seconds until the sessions were created, with the attempt to do without the CPU."""
    cached_s: float | None
    """Seconds to create sessions over the compiled files; None if that is impossible."""
    rewrites: tuple[str, ...]
    """The rewrites of the graph for the compiler."""


def compile_graph(
    graph: Graph, folder: Path, device: OnnxDevice, threads: int, inputs: Inputs
) -> CompiledGraph:
    """Compile every part for the sizes of these inputs, and time a reload."""
    sizes = dimension_sizes(graph, folder, inputs)
    # The sessions read the files again when they are profiled.
    files = tempfile.TemporaryDirectory()
    rewrites = _rewritten(graph, folder, Path(files.name), sizes)
    if rewrites:
        folder, sizes = Path(files.name), {}
    with tempfile.TemporaryDirectory() as name:
        start, context = monotonic(), Path(name)
        opened = OnnxGraph(graph, folder, device, threads, sizes=sizes, context=context)
        opened.kept = files
        compiled = monotonic()
        cached_s = _reload(opened, threads)
    return CompiledGraph(opened, seconds(compiled - start), cached_s, rewrites)


def dimension_sizes(graph: Graph, folder: Path, inputs: Inputs) -> DimensionSizes:
    """The values of the graph's symbolic dimensions, as these inputs have them."""
    if graph.shape != DYNAMIC:
        return {}
    shapes = {name: array.shape for name, array in inputs.items()}
    sizes: dict[str, int] = {}
    for part in graph.parts.values():
        sizes |= _sizes(folder / part.file, shapes)
    return sizes


def _rewritten(graph: Graph, folder: Path, out: Path, sizes: DimensionSizes) -> tuple[str, ...]:
    """Rewrite the parts, except quantized ones; return the rewrites that applied."""
    if graph.numbers != "fp32":
        return ()
    files = [part.file for part in graph.parts.values()]
    applied = [write_for_htp(folder / file, out / file, sizes) for file in files]
    return tuple(dict.fromkeys(chain.from_iterable(applied)))


def _sizes(model: Path, shapes: Mapping[str, tuple[int, ...]]) -> DimensionSizes:
    """The same of one part; only a session knows the names of its dimensions."""
    options = session_options(1)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    arguments = create_session(model, cpu_device(), lambda _: options).get_inputs()
    return {
        name: size
        for argument in arguments
        for name, size in zip(argument.shape, shapes.get(argument.name, ()), strict=False)
        if isinstance(name, str)
    }


def _reload(opened: OnnxGraph, threads: int) -> float | None:
    """Seconds to load the compiled files; None if the HTP wrote none or does not take them."""
    start = monotonic()
    try:
        for session in opened.sessions.values():
            create_session(
                context_file(session),
                opened.device,
                lambda fallback: session_options(threads, fallback=fallback),
            )
    except (Unsupported, NoSuchFile):
        return None
    return seconds(monotonic() - start)
