"""Qualcomm's HTP by the plugin onnxruntime-qnn: on x86-64 its simulator, which has no speed."""

import ctypes
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NoSuchFile

from runner.backends.base import Query
from runner.backends.onnxruntime.device import OnnxDevice, cpu_device
from runner.backends.onnxruntime.graph import OnnxGraph, context_file
from runner.backends.onnxruntime.qnn.rewrite import write_for_htp
from runner.backends.onnxruntime.query import Values, bind, placed
from runner.backends.onnxruntime.sessions import Sizes, open_session, session_options
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.graph import DYNAMIC, Graph
from runner.contract.job import Job
from runner.inputs import Inputs
from runner.measure.clock import monotonic, seconds

QNN = "QNNExecutionProvider"
HTP, SYSTEM = "QnnHtp", "QnnSystem"
"""Names of the libraries that a session loads."""
SIMULATOR = "HTP simulator"
SIMULATED_SOC = "60"
"""Snapdragon X Elite, in QNN's numbering of its chips. Without a chip the simulator computes in
fp32, and most graphs cannot be compiled."""
X86 = ("x86_64", "AMD64")


@dataclass(frozen=True)
class Compiled:
    """A graph that was compiled for the HTP."""

    opened: OnnxGraph
    compile_s: float
    """Seconds until the sessions were there, an attempt to do without the CPU's part included."""
    cached_s: float | None
    """Seconds that sessions over the compiled files took; None where they cannot be made."""
    rewrites: tuple[str, ...]
    """How the graph was rewritten for the compiler."""


def require_possible(job: Job, machine: str = platform.machine()) -> None:
    """Refuse what compiled graphs cannot do, and to time a simulator.

    Raises:
        Unsupported: the job generates.
        Unavailable: it would time a simulator.
    """
    if job.cells[0].mode == "generation":
        raise Unsupported(
            "generation is not possible with onnxruntime on qnn: the HTP compiles a graph for "
            "fixed sizes, and a cache grows with each token"
        )
    if machine in X86 and job.purpose != "verify":
        raise Unavailable(
            f"the {SIMULATOR}'s time says nothing about a device: `orchestrator verify`",
            hint=f"on {machine} there is the simulator alone; verify shows what it computes",
        )


def qnn_device(library: Any = onnxruntime, machine: str = platform.machine()) -> OnnxDevice:
    """The HTP of this machine.

    Raises:
        Unavailable: the plugin or a library that it needs is missing, or it finds no device.
    """
    plugin = _plugin()
    backend = plugin.get_qnn_htp_path()
    for name in (HTP, SYSTEM):
        _try_loading(backend.replace(HTP, name))
    if not _devices(library):
        library.register_execution_provider_library(QNN, plugin.get_library_path())
    devices = _devices(library)
    if not devices:
        raise Unavailable(f"the plugin {QNN} finds no device here")
    options = {"backend_path": backend}
    if machine in X86:
        options["soc_model"] = SIMULATED_SOC
    return OnnxDevice(
        "qnn",
        SIMULATOR if machine in X86 else _name(devices[0]),
        QNN,
        options,
        plugins=devices,
        is_simulated=machine in X86,
        compiles=True,
    )


def compile_graph(
    graph: Graph, folder: Path, device: OnnxDevice, threads: int, inputs: Inputs
) -> Compiled:
    """Compile every part for the sizes of these inputs, and see how long a reload takes.

    Raises:
        Unsupported: the HTP cannot take the graph.
    """
    sizes = sizes_of(graph, folder, inputs)
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
    return Compiled(opened, seconds(compiled - start), cached_s, rewrites)


def sizes_of(graph: Graph, folder: Path, inputs: Inputs) -> Sizes:
    """The values of the graph's symbolic dimensions, as these inputs have them."""
    if graph.shape != DYNAMIC:
        return {}
    shapes = {name: array.shape for name, array in inputs.items()}
    sizes: dict[str, int] = {}
    for part in graph.parts.values():
        sizes |= _sizes(folder / part.file, shapes)
    return sizes


def _rewritten(graph: Graph, folder: Path, out: Path, sizes: Sizes) -> tuple[str, ...]:
    """Write the parts anew; quantized ones stay as they are, with what their nodes stand between.

    What was rewritten, in words; nothing is, if no part needs it.
    """
    if graph.numbers != "fp32":
        return ()
    files = [part.file for part in graph.parts.values()]
    words = [write_for_htp(folder / file, out / file, sizes) for file in files]
    return tuple(dict.fromkeys(chain.from_iterable(words)))


def _sizes(model: Path, shapes: Mapping[str, tuple[int, ...]]) -> Sizes:
    """The same of one part, whose names only a session tells."""
    options = session_options(1)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    arguments = open_session(model, cpu_device(), lambda _: options).get_inputs()
    return {
        name: size
        for argument in arguments
        for name, size in zip(argument.shape, shapes.get(argument.name, ()), strict=False)
        if isinstance(name, str)
    }


def _reload(opened: OnnxGraph, threads: int) -> float | None:
    """Seconds; None where the HTP wrote nothing or does not take it back."""
    start = monotonic()
    try:
        for session in opened.sessions.values():
            open_session(
                context_file(session),
                opened.device,
                lambda fallback: session_options(threads, fallback=fallback),
            )
    except (Unsupported, NoSuchFile):
        return None
    return seconds(monotonic() - start)


def _plugin() -> Any:
    try:
        return import_module("onnxruntime_qnn")
    except ImportError as error:
        raise Unavailable("the package onnxruntime-qnn is not installed here") from error


def _try_loading(library: str) -> None:
    """ONNX Runtime says on stderr alone what keeps the library from being loaded.

    Raises:
        Unavailable: something does.
    """
    try:
        ctypes.CDLL(library)
    except OSError as error:
        raise Unavailable(
            f"the HTP's library cannot be loaded: {error}",
            hint="install what it misses, e.g. the system package libatomic1",
        ) from error


def _devices(library: Any) -> tuple[Any, ...]:
    return tuple(device for device in library.get_ep_devices() if device.ep_name == QNN)


def _name(device: Any) -> str:
    """What the plugin tells of a real device."""
    hardware = device.device
    return f"{hardware.vendor} {hardware.type.name}"


FLOAT = "tensor(float)"
IDENTITY: Final = bytes.fromhex(
    "080a120b616363656c6d61747269783a450a1a0a01781201791a086964656e7469747922084964656e7469747912"
    "05656d7074795a0f0a0178120a0a08080112040a020801620f0a0179120a0a08080112040a02080142040a001014"
)
"""ONNX of one node `Identity` in opset 20, from `x` to `y`, both of one fp32 number."""


def empty_query() -> Query:
    """A query over that graph on the CPU, bound as every other one."""
    device = cpu_device()
    session = open_session(IDENTITY, device, lambda _: session_options(threads=1))
    run, outputs = bind(session, {"x": placed(np.ones(1, np.float32), FLOAT, device)}, device)

    def query() -> Values:
        run()
        return outputs

    return query
