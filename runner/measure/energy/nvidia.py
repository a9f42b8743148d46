"""NVIDIA's counter: energy of the whole board since the driver was loaded."""

from importlib import import_module
from typing import Any

from runner.errors import Unavailable
from runner.measure.energy.counter import Counter

MILLI = 1e-3
PERIOD_S = 0.1
"""20 to 100 ms by generation: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's
Lack of Attention" (2023); PETSc's PetscLogGpuEnergyMeter says the same of this counter."""


def gpu(nvml: Any = None) -> list[Counter]:
    """The counter of the only GPU that is visible; from Volta on.

    `nvml` is the module pynvml of nvidia-ml-py, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the visible GPUs are not exactly one.
    """
    library = nvml or _load()
    library.nvmlInit()
    count = library.nvmlDeviceGetCount()
    if count != 1:
        raise Unavailable(f"NVML sees {count} GPUs, so which one works is not known: show it one")
    device = library.nvmlDeviceGetHandleByIndex(0)

    def read() -> float:
        return float(library.nvmlDeviceGetTotalEnergyConsumption(device) * MILLI)

    read()
    return [Counter("NVML total energy of the GPU", PERIOD_S, read)]


def _load() -> Any:
    try:
        return import_module("pynvml")
    except ImportError as error:
        raise Unavailable("the package nvidia-ml-py is not installed") from error
