"""The graphs of a job, read as they are needed, in int8 if the job asks for that."""

import gc
from pathlib import Path
from typing import Any

from runner.backends.openvino_compile import Compiler
from runner.backends.openvino_graph import OpenVINOGraph, read_models
from runner.backends.openvino_int8 import quantize
from runner.cell import Cell, Job
from runner.graph import Graph, find_graph, first_cell_with_graph


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
