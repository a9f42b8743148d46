"""OpenVINO: executes prepared graphs on CPUs, on Intel's GPUs and on Intel's NPUs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import openvino as ov

from runner.backends.base import Array, DeviceMemory, Generator, Query, Stage, Trainer
from runner.backends.graphs.generation import GraphGenerator
from runner.backends.graphs.outputs import all_finite, float_outputs, graph_columns
from runner.backends.openvino.compile import Compiler, precision_of
from runner.backends.openvino.device import find_device, is_out_of_memory, nothing
from runner.backends.openvino.evidence import prove, trace
from runner.backends.openvino.graph import CompiledPart, LoadedGraphs, OpenVINOGraph
from runner.backends.openvino.int8 import Quantized, int8_products
from runner.backends.openvino.query import GraphQuery, Step, on_host, over_nothing
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.job import Job, chosen_device
from runner.contract.record import Proof
from runner.inputs import Inputs, synthesise, tokens_to_generate
from runner.measure.clock import Clock, monotonic, seconds
from runner.measure.environment import versions

OPTIONS = (
    "INFERENCE_PRECISION_HINT",
    "PERFORMANCE_HINT",
    "NUM_STREAMS",
    THREADS := "INFERENCE_NUM_THREADS",
    "EXECUTION_MODE_HINT",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "SCHEDULING_CORE_TYPE",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "KV_CACHE_PRECISION",
)
"""The properties of a compiled model that are recorded, if it has them."""
MEMBER = re.compile(r"<\w+\.(\w+): -?\d+>")
"""How Python shows a member of an enumeration."""


def told(
    parts: Sequence[CompiledPart], shapes: str, quantized: Quantized | None
) -> dict[str, object]:
    """The columns about the compiled parts of a graph, for the shapes that are named."""
    options = {**options_of(parts[0].compiled), "shapes": shapes}
    precision = "+".join(sorted({precision_of(part.compiled) for part in parts}))
    if quantized is not None:
        options["nncf_quantize_s"] = f"{quantized.duration_s:.1f}"
        precision = f"{precision}, int8 in {_int8_products(parts)} products"
    return {
        "quantization": None if quantized is None else quantized.method,
        "inference_precision": precision,
        "execution_options": options,
        "compile_time_s": seconds(sum(part.duration_ns for part in parts)),
    }


def require_int8(parts: Sequence[CompiledPart], quantized: Quantized | None) -> None:
    """Insist that a graph with activations in int8 is executed in int8.

    Raises:
        Unsupported: none of its products is.
    """
    if quantized is not None and quantized.activations and not _int8_products(parts):
        raise Unsupported("OpenVINO executes no product of the int8 graph in int8")


def options_of(compiled: ov.CompiledModel) -> dict[str, str]:
    """The options as a compiled model has them, whatever was asked for."""
    known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
    return {name: _text(compiled.get_property(name)) for name in OPTIONS if name in known}


def threads_of(compiled: ov.CompiledModel) -> int | None:
    """Threads that a compiled model says it uses; None if it does not tell."""
    threads = options_of(compiled).get(THREADS)
    return None if threads is None else int(threads)


def _int8_products(parts: Sequence[CompiledPart]) -> int:
    return sum(int8_products(part.compiled) for part in parts)


def _text(value: object) -> str:
    """A property in OpenVINO's own words: `f32`, `ANY_CORE`, `LATENCY`."""
    if isinstance(value, ov.Type):
        return str(value.to_string())
    member = MEMBER.fullmatch(repr(value))
    return member[1] if member else str(value)


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
