"""What state an accelerator is in right behind something that was timed."""

from collections.abc import Callable
from functools import partial

from runner.contract.cell import Backend
from runner.contract.rounds import DeviceState
from runner.measure.vendors import amd, nvidia

Read = Callable[[], DeviceState]


class AcceleratorGauge:
    """Reads a device's state; what its vendor's library does not tell stays unknown.

    Nothing that it meets becomes an exception: a state that is not known takes nothing from a
    duration that is.
    """

    def __init__(self, find: Callable[[], Read] | None = None) -> None:
        self._read: Read | None = None
        try:
            self._read = find() if find else None
        except Exception:  # vendors' libraries raise what they like
            self._read = None

    def read(self) -> DeviceState | None:
        """The state now; None where there is no accelerator, or none that tells."""
        try:
            return self._read() if self._read else None
        except Exception:  # see above
            return None


def accelerator_gauge(backend: Backend, uuid: str | None = None) -> AcceleratorGauge:
    """The gauge of this backend's device; `uuid` tells which of several, where that is known."""
    if backend == "cuda":
        return AcceleratorGauge(partial(nvidia.gpu, uuid=uuid))
    if backend == "rocm":
        return AcceleratorGauge(amd.gpu)
    return AcceleratorGauge()
