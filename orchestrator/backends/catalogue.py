"""The catalogue of backends: one row a backend, everything that the host must know about it.

What a backend can compute, and why not, stands in `runner.contract.support`, for host and runner.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, get_args

from analysis.results.synonyms import axis_called, counsel, meaning
from orchestrator.backends import probes
from orchestrator.backends.probes import GPU_NODES, HTP_NODES, X86_INSTRUCTION_SETS, Probe
from runner.contract.axes import Backend, Precision, Runtime
from runner.contract.errors import UsageError, how_to_install, refuse_unknown
from runner.contract.reasons import Reason

SupportClass = Literal[1, 2, 3]
LauncherName = Literal["docker", "process"]

GIB = 1 << 30
GRAPH_RUNTIMES: frozenset[Runtime] = frozenset({"onnxruntime", "openvino", "onnxruntime_web"})
"""Runtimes that execute prepared graphs; the others build the model themselves."""
_DRI = "/dev/dri"
OR_ENGINE = ", or start a container engine"
"""The other way to what a stack is needed for, where no engine answers."""


@dataclass(frozen=True)
class DeviceRequest:
    """The devices that a container asks the engine for."""

    nvidia: bool = False
    """True asks for all NVIDIA GPUs, or for the one that the user chose, which alone is visible."""
    nodes: tuple[str, ...] = ()
    optional_nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stack:
    """The Python packages that a backend's jobs need as local processes."""

    package: str
    """The package that must be importable; the backend's others come with it."""
    remedy: str
    extras: tuple[str, ...] = ()
    """The extras of this package that install it; empty where none does."""
    lacks: Callable[[], Reason | None] | None = None
    """Tells what no package brings and is not here; None if packages are all it takes."""


@dataclass(frozen=True)
class Simulator:
    """A program in a device's place: it computes the same, and its time says nothing.

    `verify` executes it; of other jobs those alone for which the user chose it.
    """

    name: str
    instruction_sets: frozenset[str] | None = None
    """Those of machines that have it instead of the device; None for all."""
    missing: tuple[str, ...] = ()
    """Globs of device nodes: on Linux it stands in where there is none of these. Without any it
    stands in everywhere."""
    choice: str | None = None
    word: str = "simulator"

    def stands_in(
        self, system: str, instruction_set: str, nodes: Callable[[str], list[str]]
    ) -> bool:
        """True on a machine that has it and cannot have the device."""
        if self.instruction_sets is not None and instruction_set not in self.instruction_sets:
            return False
        if not self.missing:
            return True
        return system == "linux" and not any(map(nodes, self.missing))


@dataclass(frozen=True)
class HandMeasurement:
    """The device that a person measured a backend on, and the day."""

    device: str
    day: date


@dataclass(frozen=True)
class BackendSpec:
    """One row of the catalogue."""

    image: str | None
    """The image's name without `accelmatrix-`; None where no container can reach the device."""
    locks: frozenset[str]
    """Names of the physical devices it occupies. Backends that share one share its name."""
    runner_labels: tuple[str, ...]
    """Labels of the GitHub Actions runners that have the device."""
    operations_per_second: float
    """A modest speed for estimates, floating-point operations per second."""
    precisions: tuple[Precision, ...] = ("fp32",)
    batch_sizes: tuple[int, ...] = (1, 8)
    support_class: SupportClass | None = None
    """1 measured in CI, 2 measured by hand, 3 built but never measured; None: not built yet."""
    measured_by_hand: HandMeasurement | None = None
    launchers: tuple[LauncherName, ...] = get_args(LauncherName)
    device: DeviceRequest = field(default_factory=DeviceRequest)
    stack: Stack | None = None
    """The packages of its local processes; None if there is nothing to check. Backends that
    execute prepared graphs need the stack of `cpu` too, which exports them."""
    systems: tuple[str, ...] = ()
    simulator: Simulator | None = None
    host_memory: bool = False
    """True if models lie in the host's memory; of an accelerator's the host knows nothing."""
    probe: Probe | None = None
    """Looks for driver, device and permission; None if no machine could lack anything."""
    image_build_bytes: int = 4 * GIB
    """Disk that building or pulling the image takes at its height, downloads included, bytes. The
    default is what runtimes without a GPU's libraries take."""


def _self_hosted(label: str, system: str = "linux") -> tuple[str, ...]:
    return ("self-hosted", system, label)


def _installed_with(extra: str) -> str:
    return f"{how_to_install(extra)} installs it"


def _of_make(extra: str, package: str) -> Stack:
    exporting = () if extra == "cpu" else ("cpu",)
    return Stack(package, _installed_with(extra), (*exporting, extra))


_BROWSER = replace(_of_make("browser", "playwright"), lacks=probes.missing_browser)

CATALOGUE: Mapping[Backend, BackendSpec] = {
    "cpu": BackendSpec(
        image="cpu",
        locks=frozenset({"cpu"}),
        runner_labels=_self_hosted("cpu"),
        operations_per_second=1e11,
        precisions=("fp32", "int8"),
        support_class=1,
        stack=_of_make("cpu", "torch"),
        host_memory=True,
        image_build_bytes=3 * GIB,
    ),
    "cuda": BackendSpec(
        image="cuda",
        locks=frozenset({"nvidia"}),
        runner_labels=_self_hosted("cuda"),
        operations_per_second=1e13,
        precisions=("fp32", "bf16", "fp16"),
        batch_sizes=(1, 8, 32),
        support_class=2,
        measured_by_hand=HandMeasurement("NVIDIA H100 80GB HBM3", date(2026, 11, 27)),
        device=DeviceRequest(nvidia=True),
        stack=Stack("torch", _installed_with("cuda"), ("cuda",)),
        probe=probes.probe_cuda,
        image_build_bytes=20 * GIB,
    ),
    "rocm": BackendSpec(
        image="rocm",
        locks=frozenset({"amd"}),
        runner_labels=_self_hosted("rocm"),
        operations_per_second=1e13,
        precisions=("fp32", "bf16", "fp16"),
        batch_sizes=(1, 8, 32),
        support_class=3,
        device=DeviceRequest(nodes=("/dev/kfd", _DRI)),
        stack=Stack("torch", "install torch's ROCm build"),
        probe=probes.probe_rocm,
        image_build_bytes=40 * GIB,
    ),
    "mps": BackendSpec(
        image=None,
        locks=frozenset({"apple"}),
        runner_labels=_self_hosted("mps", "macOS"),
        operations_per_second=2e12,
        precisions=("fp32", "fp16"),
        support_class=3,
        launchers=("process",),
        stack=Stack("torch", _installed_with("cpu"), ("cpu",)),
        systems=("darwin",),
        probe=probes.probe_mps,
    ),
    "openvino": BackendSpec(
        image="openvino",
        locks=frozenset({"cpu", "intel"}),
        runner_labels=_self_hosted("openvino"),
        operations_per_second=2e11,
        precisions=("fp32", "int8"),
        support_class=1,
        device=DeviceRequest(optional_nodes=("/dev/accel", _DRI)),
        stack=_of_make("openvino", "openvino"),
        host_memory=True,
        probe=probes.probe_openvino,
    ),
    "qnn": BackendSpec(
        image="qnn",
        locks=frozenset({"qualcomm"}),
        runner_labels=_self_hosted("qnn"),
        operations_per_second=1e12,
        precisions=("fp16", "int8"),
        batch_sizes=(1,),
        support_class=3,
        device=DeviceRequest(
            optional_nodes=(
                *HTP_NODES,
                "/dev/fastrpc-adsp",
                "/dev/fastrpc-adsp-secure",
                "/dev/accel",
                _DRI,
            )
        ),
        stack=_of_make("qnn", "onnxruntime_qnn"),
        simulator=Simulator("HTP simulator", X86_INSTRUCTION_SETS),
        host_memory=True,
        probe=probes.probe_qnn,
    ),
    "webnn": BackendSpec(
        image="browser",
        locks=frozenset({"cpu", "nvidia", "amd", "intel"}),
        runner_labels=_self_hosted("browser"),
        operations_per_second=5e11,
        device=DeviceRequest(optional_nodes=(_DRI,)),
        support_class=1,
        stack=_BROWSER,
        host_memory=True,
    ),
    "webgpu": BackendSpec(
        image="browser",
        locks=frozenset({"cpu", "nvidia", "amd", "intel"}),
        runner_labels=_self_hosted("browser"),
        operations_per_second=5e11,
        device=DeviceRequest(optional_nodes=(_DRI,)),
        support_class=3,
        stack=_BROWSER,
        simulator=Simulator(
            "software adapter", missing=GPU_NODES, choice="software", word="software"
        ),
        probe=probes.probe_webgpu,
    ),
    "wasm": BackendSpec(
        image="browser",
        locks=frozenset({"cpu"}),
        runner_labels=_self_hosted("browser"),
        operations_per_second=1e10,
        support_class=1,
        stack=_BROWSER,
        host_memory=True,
    ),
    "fake": BackendSpec(
        image="cpu",
        locks=frozenset({"fake"}),
        runner_labels=_self_hosted("cpu"),
        operations_per_second=1e15,
    ),
}


def real_backends() -> tuple[Backend, ...]:
    return tuple(backend for backend in CATALOGUE if backend != "fake")


def known_backend(name: str) -> Backend:
    """The backend of that name, or of another word for it."""
    axis = axis_called("backend")
    meant = meaning(axis, name)
    for backend in real_backends():
        if backend == meant:
            return backend
    raise UsageError(counsel(axis, name) or refuse_unknown(name, real_backends()))


def backend_in_image(name: str) -> Backend:
    """The backend of that name, or the first one of the image of that name."""
    images = image_names()
    return images[name][0] if name in images else known_backend(name)


def image_names() -> Mapping[str, tuple[Backend, ...]]:
    """Every image's name, with the real backends that execute in it."""
    names: dict[str, tuple[Backend, ...]] = {}
    for backend in real_backends():
        if image := CATALOGUE[backend].image:
            names[image] = (*names.get(image, ()), backend)
    return names
