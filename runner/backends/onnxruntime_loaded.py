"""The graphs of a job, loaded as they are needed."""

from pathlib import Path

from runner.backends.onnxruntime_device import OnnxDevice
from runner.backends.onnxruntime_graph import OnnxGraph
from runner.cell import Cell, Job
from runner.graph import DYNAMIC, Graph, find_graph, first_cell_with_graph, fixed_shape
from runner.inputs import synthesise


class LoadedGraphs:
    """Loads the graph of the first cell that has one; those of other shapes as they are bound.

    A dynamic graph serves all shapes, unless the device compiles: then there is one for each. Only
    the latest is kept here, for all of them might fill the memory; queries keep their own.
    """

    def __init__(self, job: Job, device: OnnxDevice, threads: int, graphs: Path | None) -> None:
        """Load the first.

        Raises:
            Unsupported: no cell has one, or the device cannot take it.
        """
        self._job = job
        self._device = device
        self._threads = threads
        self._graphs = graphs
        self.compile_columns: dict[str, object] = {}
        """How long compiling the latest graph took, on devices that do so."""
        self.rewrites: tuple[str, ...] = ()
        """How the latest graph was rewritten for the device's compiler."""
        self._loaded: dict[str, OnnxGraph] = {}
        self._first = first_cell_with_graph(job, graphs)
        self.of(self._first)

    @property
    def latest(self) -> OnnxGraph:
        """The graph that was asked for last."""
        return next(iter(self._loaded.values()))

    def of(self, cell: Cell) -> OnnxGraph:
        """The graph that takes the cell's inputs.

        Raises:
            Unsupported: there is none for the cell's shape, or the device cannot take it.
        """
        graph, folder = find_graph(self._job, cell, self._graphs)
        shape = fixed_shape(cell) if self._device.compiles else graph.shape
        if shape not in self._loaded:
            self._loaded = {shape: self._load(cell, graph, folder)}
        return self._loaded[shape]

    def renew(self) -> None:
        """Make the sessions of a graph that takes every shape anew: its arenas never forget one.

        They can be told to shrink behind a run, but keep their first region whatever it holds, and
        each in which one of that run's outputs lies.
        """
        if not self._device.compiles and DYNAMIC in self._loaded:
            self.close()
            self.of(self._first)

    def close(self) -> None:
        """Drop the graph."""
        self._loaded = {}

    def _load(self, cell: Cell, graph: Graph, folder: Path) -> OnnxGraph:
        if not self._device.compiles:
            return OnnxGraph(graph, folder, self._device, self._threads)
        # What only QNN needs is no part of what importing costs elsewhere.
        from runner.backends.onnxruntime_qnn import compile_graph

        inputs = synthesise(self._job.model, cell, self._job.seed)
        compiled = compile_graph(graph, folder, self._device, self._threads, inputs)
        self.compile_columns = {
            "compile_time_s": compiled.compile_s,
            "cached_compile_time_s": compiled.cached_s,
        }
        self.rewrites = compiled.rewrites
        return compiled.opened
