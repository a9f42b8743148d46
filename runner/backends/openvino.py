"""OpenVINO: executes prepared graphs on CPUs, on Intel's GPUs and on Intel's NPUs."""

from collections.abc import Mapping
from pathlib import Path

import openvino as ov

from runner.backends.base import Array, DeviceMemory, Generator, Query, Stage, Trainer
from runner.backends.graph_columns import graph_columns
from runner.backends.graph_generation import GraphGenerator
from runner.backends.graph_outputs import all_finite, float_outputs
from runner.backends.openvino_columns import require_int8, threads_of, told
from runner.backends.openvino_compile import Compiler
from runner.backends.openvino_device import find_device, nothing
from runner.backends.openvino_errors import is_out_of_memory
from runner.backends.openvino_graph import OpenVINOGraph
from runner.backends.openvino_loaded import LoadedGraphs
from runner.backends.openvino_proof import prove
from runner.backends.openvino_query import GraphQuery, on_host, over_nothing
from runner.backends.openvino_step import Step
from runner.backends.openvino_trace import trace
from runner.cell import Cell, Job
from runner.device_choice import chosen_device
from runner.errors import Unsupported
from runner.inputs import Inputs, synthesise, tokens_to_generate
from runner.measure.clock import Clock, monotonic, seconds
from runner.measure.environment import versions
from runner.record import Proof

__all__ = ["OpenVINOSession", "is_out_of_memory", "open_session"]

LIBRARIES = ("openvino", "nncf", "numpy")


class OpenVINOSession:
    """The prepared graphs of a job on one device.

    Of loading, `instantiate` is finding the device and reading the graph, `weights` compiling it:
    there OpenVINO chooses kernels and lays out the weights for them.
    """

    interop_threads = None
    timed_region = (
        "OpenVINO's synchronous infer: inputs lie in host memory that the request reads, outputs "
        "stay in the request's; copies to a device and conversion to its precision are inside; "
        "models are compiled before"
    )

    def __init__(self, job: Job, threads: int, graphs: Path | None) -> None:
        """Read the first graph and compile it for its cell.

        Raises:
            Unsupported, Unavailable: it cannot be had, or not executed.
        """
        self._job = job
        start = monotonic()
        core = ov.Core()
        self._device = find_device(core, chosen_device("openvino"))
        self._compiler = Compiler(core, self._device, job.cells[0].precision, threads)
        self._graphs = LoadedGraphs(job, core, self._compiler, graphs)
        read = monotonic()
        cell = self._graphs.first_cell
        opened = self._graphs.of(cell)
        inputs = synthesise(job.model, cell, job.seed)
        begin = monotonic()
        opened.compile(inputs)
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": read - start,
            "weights": monotonic() - begin,
        }
        self.parameters = opened.graph.parameters
        self.threads = threads_of(opened.parts[0].compiled)
        self._steps: tuple[Step, ...] = ()

    @property
    def device_name(self) -> str:
        """What the device's maker calls it."""
        return self._device.full_name

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of OpenVINO, NNCF and numpy."""
        return versions(LIBRARIES)

    @property
    def columns(self) -> Mapping[str, object]:
        """What the cell bound last executes, and how; before, the first that has a graph.

        Nothing while no part is compiled: where that failed, and once the session is closed.
        In mode `startup` the graph is compiled twice more here, to tell what a warm cache saves:
        that takes too much memory and time for the other modes, which don't ask.
        """
        opened = self._graphs.latest
        if opened is None or not opened.parts:
            return {}
        asked = self._job.cells[0].mode == "startup"
        cached_ns = opened.cached_ns() if asked else None
        return {
            **graph_columns(self._job, opened.graph),
            **told(opened.parts, opened.shapes, opened.quantized),
            "cached_compile_time_s": None if cached_ns is None else seconds(cached_ns),
        }

    def bind(self, cell: Cell, inputs: Inputs) -> GraphQuery:
        """Let requests read the inputs where they lie; another shape is compiled here.

        Raises:
            Unsupported: it cannot be compiled, or an int8 graph is not executed in int8.
        """
        opened = self._open(cell)
        query = opened.query(inputs)
        require_int8(opened.parts, opened.quantized)
        self._steps = query.steps
        return query

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Generator:
        """The decode loop over the graph's parts."""
        new_tokens = tokens_to_generate(cell)
        opened = self._open(cell)
        executors = opened.executors()
        self._steps = tuple(step for part in executors.values() for step in part.steps)
        return GraphGenerator(self._job.model, opened.graph, executors, inputs, new_tokens, clock)

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> Trainer:
        """Graphs for inference have no gradients."""
        del cell, inputs, clock
        raise Unsupported("OpenVINO executes inference graphs only")

    def empty(self) -> GraphQuery:
        """A query over a model of no operator, which gives what it takes."""
        model = nothing()
        return over_nothing(model, self._compiler.compile(model))

    def all_finite(self, outputs: object) -> bool:
        """Whether every output is finite."""
        return all_finite(on_host(outputs))

    def arrays(self, outputs: object) -> dict[str, Array]:
        """The floating-point outputs as fp32, by dotted path."""
        return float_outputs(on_host(outputs))

    def prove(self, query: Query) -> tuple[Proof, dict[str, str]]:
        """Ask the compiled parts which devices they execute on."""
        return prove(query, self._device)

    def trace(self, action: Query, stem: Path) -> None:
        """Profile one call with OpenVINO's performance counters."""
        trace(action, self._steps, self._compiler, stem)

    def trim(self) -> None:
        """Nothing is kept: a request's memory goes with it, or as another shape is compiled."""

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        """None: the CPU uses the host's memory, and of other devices OpenVINO tells no peak."""
        del reset
        return None

    def close(self) -> None:
        """Drop the graphs and all that was compiled."""
        self._steps = ()
        self._graphs.close()

    def _open(self, cell: Cell) -> OpenVINOGraph:
        """The cell's graph, with nothing here that holds on to what was compiled before."""
        self._steps = ()
        return self._graphs.of(cell)


def open_session(job: Job, threads: int, graphs: Path | None = None) -> OpenVINOSession:
    """Load the job's graph on the device that the user chose, with that many threads."""
    cell = job.cells[0]
    if cell.backend != "openvino":
        raise Unsupported(f"the runtime openvino has no device for backend {cell.backend}")
    if (cell.mode, cell.precision) == ("startup", "int8"):
        raise Unsupported(
            "a start in int8 would time the quantising: NNCF does that as a job loads"
        )
    return OpenVINOSession(job, threads, graphs)
