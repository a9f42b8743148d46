"""Qualcomm's HTP by the plugin onnxruntime-qnn, or its simulator, and graphs compiled for it."""

import ctypes
import platform
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NoSuchFile

from runner.backends.onnxruntime.device import OnnxDevice, cpu_device
from runner.backends.onnxruntime.qnn.rewrites import write_for_htp
from runner.backends.onnxruntime.sessions import (
    DimensionSizes,
    OnnxGraph,
    context_file,
    create_session,
    session_options,
)
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.graph import DYNAMIC, Graph
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.inputs import Inputs
from runner.measure.clock import monotonic, seconds

QNN = "QNNExecutionProvider"
SIMULATOR = "HTP simulator"
_HTP, _SYSTEM = "QnnHtp", "QnnSystem"
_SIMULATED_SOC = "60"
"""Snapdragon X Elite in QNN's numbering; without a chip the simulator computes in fp32."""
_AT_FULL_SPEED = {"htp_performance_mode": "burst", "rpc_control_latency": "100"}
"""The plugin's default lets the HTP save power. `burst` asks for its highest clock and voltage, the
latency, in microseconds, keeps processor and HTP from sleeping between two calls (ONNX Runtime, QNN
execution provider, configuration options). The simulator has neither."""
_X86 = ("x86_64", "AMD64")


def require_possible(job: Job, machine: str = platform.machine()) -> None:
    """Refuse generation with compiled graphs, and timing a simulator."""
    if job.cells[0].mode == "generation":
        raise Unsupported(reason("qnn_generation"))
    if machine in _X86 and job.purpose != "verify":
        raise Unavailable(reason("simulator_untimed", simulator=SIMULATOR, machine=machine))


def qnn_device(library: Any = onnxruntime, machine: str = platform.machine()) -> OnnxDevice:
    try:
        import onnxruntime_qnn as plugin
    except ImportError as error:
        raise Unavailable(reason("qnn_not_installed")) from error
    backend = plugin.get_qnn_htp_path()
    try:  # since ONNX Runtime reports a failure to load them on stderr alone
        for name in (_HTP, _SYSTEM):
            ctypes.CDLL(backend.replace(_HTP, name))
    except OSError as error:
        raise Unavailable(reason("qnn_library", error=error)) from error
    if not _devices(library):
        library.register_execution_provider_library(QNN, plugin.get_library_path())
    devices = _devices(library)
    if not devices:
        raise Unavailable(reason("qnn_no_device", plugin=QNN))
    is_simulated, hardware = machine in _X86, devices[0].device
    options = {"soc_model": _SIMULATED_SOC} if is_simulated else _AT_FULL_SPEED
    return OnnxDevice(
        "qnn",
        SIMULATOR if is_simulated else f"{hardware.vendor} {hardware.type.name}",
        QNN,
        {"backend_path": backend, **options},
        plugins=devices,
        is_simulated=is_simulated,
        compiles=True,
    )


def _devices(library: Any) -> tuple[Any, ...]:
    return tuple(device for device in library.get_ep_devices() if device.ep_name == QNN)


@dataclass(frozen=True)
class CompiledGraph:
    """A graph that was compiled for the HTP."""

    opened: OnnxGraph
    compile_s: float
    """Seconds until the sessions were created, with the attempt to do without the CPU."""
    cached_s: float | None
    """Seconds to create sessions over the compiled files; None if that is impossible."""
    rewrites: tuple[str, ...]


def compile_graph(
    graph: Graph, folder: Path, device: OnnxDevice, threads: int, inputs: Inputs
) -> CompiledGraph:
    sizes = _dimension_sizes(graph, folder, inputs)
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


def _dimension_sizes(graph: Graph, folder: Path, inputs: Inputs) -> DimensionSizes:
    """The values of the graph's symbolic dimensions, as these inputs have them."""

    def unoptimised(fallback: bool) -> Any:
        options = session_options(1, fallback=fallback)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return options

    sizes: dict[str, int] = {}
    for part in graph.parts.values() if graph.shape == DYNAMIC else ():
        # Only a session knows the names of its dimensions.
        session = create_session(folder / part.file, cpu_device(), unoptimised)
        for argument in session.get_inputs():
            shape = inputs[argument.name].shape if argument.name in inputs else ()
            named = zip(argument.shape, shape, strict=False)
            sizes |= {name: size for name, size in named if isinstance(name, str)}
    return sizes


def _rewritten(graph: Graph, folder: Path, out: Path, sizes: DimensionSizes) -> tuple[str, ...]:
    """Rewrite the parts, except quantized ones; return the rewrites that applied."""
    if graph.numbers != "fp32":
        return ()
    files = [part.file for part in graph.parts.values()]
    applied = [write_for_htp(folder / file, out / file, sizes) for file in files]
    return tuple(dict.fromkeys(chain.from_iterable(applied)))


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
