"""An accelerator's driver, build and state, and what held its clock down: by its vendor's library.

Nothing here raises: an unknown fact spoils no duration. `uuid` selects one of several NVIDIA GPUs,
`pci_address` one of several AMD GPUs; `library` stands in for pynvml or amdsmi.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from runner.contract.axes import Backend
from runner.contract.rounds import DeviceState
from runner.measure.vendors.amd import amd_build, amd_driver, watch_amd_gpu
from runner.measure.vendors.base import DeviceBuild, Violations, WatchedGpu, known
from runner.measure.vendors.nvidia import nvidia_build, nvidia_driver, watch_nvidia_gpu


class AcceleratorReader:
    """Reads the state of a device, if there is one."""

    def __init__(self, find: Callable[[], WatchedGpu] | None = None) -> None:
        self._gpu = known(find) if find else None
        self._before: Violations | None = None

    def begin(self) -> None:
        """Read the counters of what throttles it, as the steady phase begins."""
        self._before = self._violations()

    def read(self) -> DeviceState | None:
        """The state now; None without an accelerator, or if its library does not report one."""
        violations = self._violations()
        throttled = violations and self._before and violations.since(self._before)
        state = known(self._gpu.state) if self._gpu else None
        return state and state.model_copy(update={"throttled": throttled})

    def clock_hz(self) -> float | None:
        state = known(self._gpu.state) if self._gpu else None
        return state.clock_hz if state else None

    def _violations(self) -> Violations | None:
        return known(self._gpu.violations) if self._gpu else None


def accelerator_reader(
    backend: Backend, uuid: str | None = None, pci_address: str | None = None
) -> AcceleratorReader:
    if backend == "cuda":
        return AcceleratorReader(partial(watch_nvidia_gpu, uuid=uuid))
    if backend == "rocm":
        return AcceleratorReader(partial(watch_amd_gpu, pci_address=pci_address))
    return AcceleratorReader()


def device_build(
    backend: Backend, uuid: str | None = None, pci_address: str | None = None, library: Any = None
) -> DeviceBuild:
    """The build and the settings of the backend's device, as far as they are known."""
    build = None
    if backend == "cuda":
        build = known(partial(nvidia_build, library, uuid))
    elif backend == "rocm":
        build = known(partial(amd_build, library, pci_address))
    return build or DeviceBuild()


def driver_version(backend: Backend, library: Any = None) -> Mapping[str, str]:
    """The driver's version by its name; empty if there is none or it is unknown."""
    driver = None
    if backend == "cuda":
        driver = known(partial(nvidia_driver, library))
    elif backend == "rocm":
        driver = known(partial(amd_driver, library))
    return driver or {}
