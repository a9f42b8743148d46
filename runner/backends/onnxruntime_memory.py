"""Memory of the accelerators that ONNX Runtime executes on."""

from collections.abc import Callable

from runner.backends.base import DeviceMemory


class MemoryGauge:
    """Reads an accelerator's memory from its driver; ONNX Runtime tells Python no peak."""

    def __init__(self, used_bytes: Callable[[], int] | None) -> None:
        self._used_bytes = used_bytes
        self._before_bytes = self._read()

    def read(self) -> DeviceMemory | None:
        """The use now, less that before this gauge was made; None where it is not known."""
        used = self._read()
        if used is None or self._before_bytes is None:
            return None
        return DeviceMemory(allocator_peak_bytes=None, used_bytes=max(0, used - self._before_bytes))

    def _read(self) -> int | None:
        try:
            return self._used_bytes() if self._used_bytes else None
        except Exception:  # NVML's own errors: what is not known takes nothing from a duration
            return None
