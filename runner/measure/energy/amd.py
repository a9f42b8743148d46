"""AMD's counter: energy of the GPU's socket since the driver was loaded."""

from typing import Any

from runner.measure.amd_smi import gpu_of
from runner.measure.energy.counter import Counter

MICRO = 1e-6
PERIOD_S = 0.1
"""The driver hands out the firmware's table as it was up to 1 ms, in older kernels up to 100 ms
ago: Linux, drivers/gpu/drm/amd/pm/swsmu, `metrics_time`."""


def gpu(amdsmi: Any = None) -> list[Counter]:
    """The counter of the only GPU that is visible.

    `amdsmi` is AMD's module of that name, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the visible GPUs are not exactly one.
    """
    library, device = gpu_of(amdsmi)

    def read() -> float:
        count = library.amdsmi_get_energy_count(device)
        # Before 6.2.1 the accumulator was called `power`.
        ticks = count["energy_accumulator"] if "energy_accumulator" in count else count["power"]
        return float(ticks * count["counter_resolution"] * MICRO)

    read()
    return [Counter("AMD SMI energy of the GPU", PERIOD_S, read)]
