"""NVIDIA's counter: energy of the whole board since the driver was loaded."""

from typing import Any

from runner.measure.energy.counter import Counter
from runner.measure.nvml import gpu_of

MILLI = 1e-3
PERIOD_S = 0.1
"""20 to 100 ms by generation: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's
Lack of Attention" (2023); PETSc's PetscLogGpuEnergyMeter says the same of this counter."""


def gpu(nvml: Any = None, uuid: str | None = None) -> list[Counter]:
    """The counter of the GPU with that UUID, or of the only one that is visible; from Volta on.

    `nvml` is the module pynvml of nvidia-ml-py, or what stands in for it.

    Raises:
        Unavailable: the library is missing; or the UUID is unknown and several GPUs are visible.
    """
    library, device = gpu_of(nvml, uuid)

    def read() -> float:
        return float(library.nvmlDeviceGetTotalEnergyConsumption(device) * MILLI)

    read()
    return [Counter("NVML total energy of the GPU", PERIOD_S, read)]
