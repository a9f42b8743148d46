"""ONNX Runtime: executes prepared graphs on the CPU, on NVIDIA's GPUs and on Qualcomm's HTP."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from runner.backends.base import Array, DeviceMemory, Generator, Query, Stage, Trainer
from runner.backends.graphs.outputs import all_finite, float_outputs, graph_columns
from runner.backends.onnxruntime.device import (
    MemoryGauge,
    OnnxDevice,
    cpu_device,
    cuda_device,
    precision_of,
)
from runner.backends.onnxruntime.evidence import prove, trace
from runner.backends.onnxruntime.graph import OnnxGraph
from runner.backends.onnxruntime.qnn.plugin import empty_query
from runner.backends.onnxruntime.query import OnnxQuery, Values, generator, on_host
from runner.backends.onnxruntime.sessions import is_out_of_memory, recorded_options
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import DYNAMIC, Graph, find_graph, first_cell_with_graph, fixed_shape
from runner.contract.job import Job
from runner.contract.record import Proof
from runner.inputs import Inputs, synthesise, tokens_to_generate
from runner.measure.clock import Clock, monotonic
from runner.measure.environment import versions


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
        from runner.backends.onnxruntime.qnn.plugin import compile_graph

        inputs = synthesise(self._job.model, cell, self._job.seed)
        compiled = compile_graph(graph, folder, self._device, self._threads, inputs)
        self.compile_columns = {
            "compile_time_s": compiled.compile_s,
            "cached_compile_time_s": compiled.cached_s,
        }
        self.rewrites = compiled.rewrites
        return compiled.opened


__all__ = ["OnnxSession", "is_out_of_memory", "open_session"]

LIBRARIES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-qnn", "numpy")


class OnnxSession:
    """The prepared graphs of a job on one device.

    Of loading, `instantiate` is finding the device, `weights` finding the graph and making the
    sessions: there ONNX Runtime reads the file, optimises the graph and lays out its weights.
    """

    timed_region = (
        "ONNX Runtime's run with IO binding: inputs lie on the device before, outputs are written "
        "there into memory kept from the first query on, and the device is synchronised; sessions "
        "are made before"
    )

    def __init__(self, job: Job, threads: int, graphs: Path | None) -> None:
        """Load the graph of the first cell that has one.

        Raises:
            Unsupported, Unavailable: it cannot be had, or not executed.
        """
        self.threads = threads
        self.interop_threads = 1
        self._job = job
        start = monotonic()
        self._precision = precision_of(job.cells[0])
        self._device = _device_of(job)
        self._memory = MemoryGauge(self._device.used_bytes)
        self._is_fresh = True
        instantiated = monotonic()
        self._graphs = LoadedGraphs(job, self._device, threads, graphs)
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": instantiated - start,
            "weights": monotonic() - instantiated,
        }
        self.parameters = self._graphs.latest.graph.parameters

    @property
    def columns(self) -> Mapping[str, object]:
        """What the cell bound last executes, and how; before, the first that has a graph."""
        return {
            **graph_columns(self._job, self._graphs.latest.graph),
            **self._graphs.compile_columns,
            "device_uuid": self._device.uuid,
            "inference_precision": self._precision,
            "execution_options": self._options(),
        }

    @property
    def device_name(self) -> str:
        """The processor, the GPU, the HTP, or the HTP's simulator."""
        return self._device.name

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of ONNX Runtime, whichever of its packages is there, and numpy."""
        return versions(LIBRARIES)

    def bind(self, cell: Cell, inputs: Inputs) -> OnnxQuery:
        """Move the inputs to the device; a graph of fixed shape is loaded here, if need be."""
        self._is_fresh = False
        return OnnxQuery(self._graphs.of(cell), self._job.model, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Generator:
        """The decode loop over the graph's parts."""
        new_tokens = tokens_to_generate(cell)
        self._is_fresh = False
        return generator(self._graphs.of(cell), self._job.model, inputs, new_tokens, clock)

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> Trainer:
        """Graphs for inference have no gradients."""
        del cell, inputs, clock
        raise Unsupported("ONNX Runtime executes inference graphs only")

    def empty(self) -> Query:
        """A query over a graph of one node that hands its input on, on the CPU."""
        return empty_query()

    def all_finite(self, outputs: object) -> bool:
        """Whether every output is finite."""
        return all_finite(on_host(cast("Values", outputs)))

    def arrays(self, outputs: object) -> dict[str, Array]:
        """The floating-point outputs as fp32, by dotted path."""
        return float_outputs(on_host(cast("Values", outputs)))

    def prove(self, query: Query) -> tuple[Proof, dict[str, str]]:
        """Look up on which providers the graph's nodes lie."""
        return prove(query, self._device)

    def trace(self, action: Query, stem: Path) -> None:
        """Profile one call with ONNX Runtime's profiler."""
        trace(action, self._graphs.latest, stem)

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        """A GPU's, as its driver counts it; None elsewhere: it is the host's."""
        del reset  # no peak is kept
        return self._memory.read()

    def trim(self) -> None:
        """Execute on new sessions, if there was a query before."""
        if not self._is_fresh:
            self._graphs.renew()
            self._is_fresh = True

    def close(self) -> None:
        """Drop the sessions."""
        self._graphs.close()

    def _options(self) -> dict[str, str]:
        """Those of all parts' sessions."""
        sessions = list(self._graphs.latest.sessions.values())
        rewrites = self._graphs.rewrites
        told = {"graph_rewrites": "; ".join(rewrites)} if rewrites else {}
        return {**recorded_options(sessions, self._device), **told}


def open_session(job: Job, threads: int, graphs: Path | None = None) -> OnnxSession:
    """Load the job's graph where its backend says, with that many threads per operator."""
    return OnnxSession(job, threads, graphs)


def _device_of(job: Job) -> OnnxDevice:
    backend = job.cells[0].backend
    if backend == "qnn":
        from runner.backends.onnxruntime.qnn.plugin import qnn_device, require_possible

        require_possible(job)
        return qnn_device()
    return cuda_device() if backend == "cuda" else cpu_device()
