"""NVIDIA GPUs through NVML: memory, driver, state and energy of the GPU that works.

`nvml` is everywhere the module pynvml of nvidia-ml-py, or a test's stand-in for it; `uuid` names
the GPU. All functions raise `Unavailable` if the library is missing, or if there is no UUID and
several GPUs are visible.
"""

from collections.abc import Callable, Mapping
from ctypes import CDLL, byref, c_int
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.vendors.base import Counter, DeviceBuild, Violations, known

_HERTZ_PER_MHZ = 1_000_000
_JOULES_PER_MJ = 1e-3
_PERIOD_S = 0.1
"""20 to 100 ms by generation: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's
Lack of Attention" (2023); PETSc's PetscLogGpuEnergyMeter says the same of this counter."""
_POLICIES: Mapping[int, str] = {
    0: "Power",
    1: "Thermal",
    2: "SyncBoost",
    3: "BoardLimit",
    5: "Reliability",
}
"""NVML's names, nvml.h: `NVML_PERF_POLICY_…`. Low utilisation, 4, holds nothing down that works."""
_NS_PER_US = 1000
_WATTS_PER_MW = 1e-3
_CUDA = "libcuda.so.1"
_MULTIPROCESSORS = 16  # `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT` of the CUDA driver's interface
_MIG = " MIG "
_GPU, SLICE = "GPU-", "MIG-"


def load_nvml() -> Any:
    try:
        return import_module("pynvml")
    except ImportError as error:
        raise Unavailable("the package nvidia-ml-py is not installed") from error


def open_nvidia_gpu(nvml: Any = None, uuid: str | None = None) -> tuple[Any, Any]:
    library = nvml or load_nvml()
    library.nvmlInit()
    if uuid is not None:
        return library, _by_uuid(library, uuid)
    count = library.nvmlDeviceGetCount()
    if count != 1:
        raise Unavailable(
            f"NVML sees {count} GPUs, so the one at work is not known: make one visible"
        )
    return library, library.nvmlDeviceGetHandleByIndex(0)


def _by_uuid(library: Any, uuid: str) -> Any:
    """The handle of a GPU, or of a slice of one.

    CUDA gives a slice's own UUID without a prefix (cuDeviceGetUuid_v2), NVML finds it by `MIG-`.
    """
    try:
        return library.nvmlDeviceGetHandleByUUID(uuid)
    except Exception:
        if not uuid.startswith(_GPU):
            raise
        return library.nvmlDeviceGetHandleByUUID(f"{SLICE}{uuid.removeprefix(_GPU)}")


def nvidia_driver(nvml: Any = None) -> dict[str, str]:
    library = nvml or load_nvml()
    library.nvmlInit()
    return {"nvidia-driver": str(library.nvmlSystemGetDriverVersion())}


def used_bytes(uuid: str | None = None, nvml: Any = None) -> int:
    """Memory of the GPU that all processes together use."""
    library, device = open_nvidia_gpu(nvml, uuid)
    return int(library.nvmlDeviceGetMemoryInfo(device).used)


@dataclass(frozen=True)
class WatchedNvidiaGpu:
    """A GPU by NVML; of a slice of one the whole board, whose clock and power they share."""

    library: Any
    board: Any

    def state(self) -> DeviceState:
        """Its clock and temperature now; older drivers lack the function of the second."""
        library, board = self.library, self.board
        return DeviceState(
            clock_hz=known(
                lambda: (
                    library.nvmlDeviceGetClockInfo(board, library.NVML_CLOCK_SM) * _HERTZ_PER_MHZ
                )
            ),
            temperature_c=known(
                lambda: library.nvmlDeviceGetTemperatureV(board, library.NVML_TEMPERATURE_GPU)
            ),
        )

    def violations(self) -> Violations | None:
        """Nanoseconds below the clocks that applications asked for, by NVML's policies."""
        held, reference = {}, {}
        for number, name in _POLICIES.items():
            times = known(partial(self.library.nvmlDeviceGetViolationStatus, self.board, number))
            if times is not None:
                held[name] = float(times.violationTime)
                reference[name] = float(times.referenceTime * _NS_PER_US)
        return Violations(held, reference) if held else None


def watch_nvidia_gpu(nvml: Any = None, uuid: str | None = None) -> WatchedNvidiaGpu:
    library, device = open_nvidia_gpu(nvml, uuid)
    return WatchedNvidiaGpu(library, _board(library, device))


def nvidia_build(
    nvml: Any = None, uuid: str | None = None, driver: Callable[[str], Any] = CDLL
) -> DeviceBuild:
    """The build and the settings of the GPU; `driver` loads a library of that name."""
    library, device = open_nvidia_gpu(nvml, uuid)
    board = _board(library, device)
    name = known(lambda: str(library.nvmlDeviceGetName(device))) or ""
    return DeviceBuild(
        device_partition=name.partition(_MIG)[2] or None,
        device_power_limit_watts=known(
            lambda: library.nvmlDeviceGetEnforcedPowerLimit(board) * _WATTS_PER_MW
        ),
        device_ecc=known(lambda: bool(library.nvmlDeviceGetEccMode(board)[0])),
        device_pcie_width=known(lambda: int(library.nvmlDeviceGetCurrPcieLinkWidth(board))),
        device_pcie_generation=known(
            lambda: int(library.nvmlDeviceGetMaxPcieLinkGeneration(board))
        ),
        device_memory_bytes=known(lambda: int(library.nvmlDeviceGetMemoryInfo(device).total)),
        device_compute_units=known(partial(_multiprocessors, driver)),
    )


def nvidia_parts(library: Any, board: Any) -> list[Any]:
    """The handles of what CUDA can compute on: the slices of a divided GPU, else the whole one."""
    mode = known(lambda: library.nvmlDeviceGetMigMode(board)[0])
    if not mode:
        return [board]
    slices = (
        known(partial(library.nvmlDeviceGetMigDeviceHandleByIndex, board, index))
        for index in range(library.nvmlDeviceGetMaxMigDeviceCount(board))
    )
    return [slice_ for slice_ in slices if slice_ is not None]


def _board(library: Any, device: Any) -> Any:
    """The whole GPU that a slice belongs to; the device itself if it is no slice."""
    is_slice = known(lambda: bool(library.nvmlDeviceIsMigDeviceHandle(device)))
    return library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device) if is_slice else device


def _multiprocessors(load: Callable[[str], Any]) -> int | None:
    """Streaming multiprocessors of the only GPU, or slice of one, that this process sees."""
    cuda, count, device, value = load(_CUDA), c_int(), c_int(), c_int()
    failed = (
        cuda.cuInit(0)
        or cuda.cuDeviceGetCount(byref(count))
        or cuda.cuDeviceGet(byref(device), 0)
        or cuda.cuDeviceGetAttribute(byref(value), _MULTIPROCESSORS, device)
    )
    return None if failed or count.value != 1 else value.value


def nvidia_energy_counters(nvml: Any = None, uuid: str | None = None) -> list[Counter]:
    """The energy counter of the GPU, which NVML has from Volta on."""
    library, device = open_nvidia_gpu(nvml, uuid)

    def read() -> float:
        return float(library.nvmlDeviceGetTotalEnergyConsumption(device) * _JOULES_PER_MJ)

    read()
    return [Counter("NVML total energy of the GPU", _PERIOD_S, read, part="board")]
