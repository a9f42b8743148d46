"""The graphs of a job, loaded as they are needed."""

from pathlib import Path

from runner.backends.onnxruntime_device import OnnxDevice
from runner.backends.onnxruntime_graph import OnnxGraph
from runner.cell import Cell, Job
from runner.graph import Graph, find_graph, fixed_shape
from runner.inputs import Inputs, synthesise


class LoadedGraphs:
    """Loads the graph of the first cell at once; those of other shapes when they are first bound.

    A dynamic graph serves all shapes, unless the device compiles: then there is one for each. Only
    the latest is kept here, for all of them might fill the memory; queries keep their own.
    """

    def __init__(self, job: Job, device: OnnxDevice, threads: int, graphs: Path | None) -> None:
        """Load the first.

        Raises:
            Unsupported: there is none, or the device cannot take it.
        """
        self._job = job
        self._device = device
        self._threads = threads
        self._graphs = graphs
        self.compile_columns: dict[str, object] = {}
        """How long compiling the first graph took, on devices that do so."""
        self.rewrites: tuple[str, ...] = ()
        """How the latest graph was rewritten for the device's compiler."""
        self._loaded: dict[str, OnnxGraph] = {}
        self.of(job.cells[0], synthesise(job.model, job.cells[0], job.seed))

    @property
    def latest(self) -> OnnxGraph:
        """The graph that was asked for last."""
        return next(iter(self._loaded.values()))

    def of(self, cell: Cell, inputs: Inputs) -> OnnxGraph:
        """The graph that takes these inputs.

        Raises:
            Unsupported: there is none for the cell's shape, or the device cannot take it.
        """
        graph, folder = find_graph(self._job, cell, self._graphs)
        shape = fixed_shape(cell) if self._device.compiles else graph.shape
        if shape not in self._loaded:
            self._loaded = {shape: self._load(graph, folder, inputs)}
        return self._loaded[shape]

    def close(self) -> None:
        """Drop the graph."""
        self._loaded = {}

    def _load(self, graph: Graph, folder: Path, inputs: Inputs) -> OnnxGraph:
        if not self._device.compiles:
            return OnnxGraph(graph, folder, self._device, self._threads)
        # What only QNN needs is no part of what importing costs elsewhere.
        from runner.backends.onnxruntime_qnn import compile_graph

        compiled = compile_graph(graph, folder, self._device, self._threads, inputs)
        self.compile_columns = self.compile_columns or {
            "compile_time_s": compiled.compile_s,
            "cached_compile_time_s": compiled.cached_s,
        }
        self.rewrites = compiled.rewrites
        return compiled.opened
