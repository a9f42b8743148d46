"""The graphs of a job, read as they are needed, in int8 if the job asks for that."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.backends.openvino_compile import Compiler
from runner.backends.openvino_graph import OpenVINOGraph, read_models
from runner.backends.openvino_int8 import Quantized, quantize
from runner.cell import Cell, Job
from runner.errors import Unsupported
from runner.graph import Graph, find_graph


class LoadedGraphs:
    """Reads the first graph at once; those of other shapes when they are first bound.

    Only the latest is kept here, for all of them might fill the memory; queries keep their own.
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
        self._loaded: dict[str, OpenVINOGraph] = {}
        self.quantized: Quantized | None = None
        """How the latest graph became int8; None in other precisions."""
        self.first_cell = _first_cell(job, graphs)
        """The first of the job's cells that has a graph."""
        self.of(self.first_cell)

    def of(self, cell: Cell) -> OpenVINOGraph:
        """The graph that takes the cell's inputs.

        Raises:
            Unsupported: there is none for its shape, or OpenVINO cannot read it.
        """
        graph, folder = find_graph(self._job, cell, self._graphs)
        if graph.shape not in self._loaded:
            self._loaded = {graph.shape: self._read(cell, graph, folder)}
        return self._loaded[graph.shape]

    def close(self) -> None:
        """Drop the graph."""
        self._loaded = {}

    def _read(self, cell: Cell, graph: Graph, folder: Path) -> OpenVINOGraph:
        models = read_models(self._core, graph, folder)
        if cell.precision == "int8":
            self.quantized = quantize(self._job, cell, graph, models, self._compiler.compile)
            return OpenVINOGraph(self._job.model, graph, self.quantized.models, self._compiler)
        return OpenVINOGraph(self._job.model, graph, models, self._compiler)


def _first_cell(job: Job, graphs: Path | None) -> Cell:
    for cell in job.cells:
        with suppress(Unsupported):
            find_graph(job, cell, graphs)
            return cell
    return job.cells[0]
