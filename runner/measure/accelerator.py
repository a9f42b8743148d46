"""State of an accelerator behind something that was timed, and what held its clock down."""

from collections.abc import Callable
from functools import partial
from typing import Any

from runner.contract.cell import Backend
from runner.contract.rounds import DeviceState
from runner.measure.vendors.amd import amd_build, watch_amd_gpu
from runner.measure.vendors.base import DeviceBuild, Violations, WatchedGpu
from runner.measure.vendors.nvidia import nvidia_build, watch_nvidia_gpu


class AcceleratorReader:
    """Reads the state of a device, and never raises: an unknown state spoils no duration."""

    def __init__(self, find: Callable[[], WatchedGpu] | None = None) -> None:
        self._gpu: WatchedGpu | None = None
        self._before: Violations | None = None
        try:
            self._gpu = find() if find else None
        except Exception:  # vendors' libraries raise what they like
            self._gpu = None

    def begin(self) -> None:
        self._before = self._violations()

    def read(self) -> DeviceState | None:
        """The state now; None without an accelerator, or if its library does not report one."""
        violations = self._violations()
        throttled = violations and self._before and violations.since(self._before)
        try:
            state = self._gpu.state() if self._gpu else None
        except Exception:  # see above
            return None
        return state and state.model_copy(update={"throttled": throttled})

    def _violations(self) -> Violations | None:
        try:
            return self._gpu.violations() if self._gpu else None
        except Exception:  # see above
            return None


def accelerator_reader(
    backend: Backend, uuid: str | None = None, pci_address: str | None = None
) -> AcceleratorReader:
    """The reader of the backend's device.

    Args:
        backend: the hardware path.
        uuid: selects one of several NVIDIA GPUs.
        pci_address: selects one of several AMD GPUs.
    """
    if backend == "cuda":
        return AcceleratorReader(partial(watch_nvidia_gpu, uuid=uuid))
    if backend == "rocm":
        return AcceleratorReader(partial(watch_amd_gpu, pci_address=pci_address))
    return AcceleratorReader()


def device_build(
    backend: Backend, uuid: str | None = None, pci_address: str | None = None, library: Any = None
) -> DeviceBuild:
    """The build and the settings of the backend's device, as far as they are known.

    Args:
        backend: the hardware path.
        uuid: selects one of several NVIDIA GPUs.
        pci_address: selects one of several AMD GPUs.
        library: stands in for pynvml or amdsmi.
    """
    try:
        if backend == "cuda":
            return nvidia_build(library, uuid)
        if backend == "rocm":
            return amd_build(library, pci_address)
    except Exception:  # vendors' libraries raise what they like
        return DeviceBuild()
    return DeviceBuild()
