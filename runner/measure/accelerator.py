"""State of an accelerator right after something was timed."""

from collections.abc import Callable
from functools import partial

from runner.contract.cell import Backend
from runner.contract.rounds import DeviceState
from runner.measure.vendors.amd import amd_state_reader
from runner.measure.vendors.nvidia import nvidia_state_reader

Read = Callable[[], DeviceState]


class AcceleratorReader:
    """Reads the state of a device, and never raises: an unknown state spoils no duration."""

    def __init__(self, find: Callable[[], Read] | None = None) -> None:
        self._read: Read | None = None
        try:
            self._read = find() if find else None
        except Exception:  # vendors' libraries raise what they like
            self._read = None

    def read(self) -> DeviceState | None:
        """The state now; None without an accelerator, or if its library does not report one."""
        try:
            return self._read() if self._read else None
        except Exception:  # see above
            return None


def accelerator_reader(backend: Backend, uuid: str | None = None) -> AcceleratorReader:
    """The reader of the backend's device; `uuid` selects one of several NVIDIA GPUs."""
    if backend == "cuda":
        return AcceleratorReader(partial(nvidia_state_reader, uuid=uuid))
    if backend == "rocm":
        return AcceleratorReader(amd_state_reader)
    return AcceleratorReader()
