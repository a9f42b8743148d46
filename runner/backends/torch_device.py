"""What differs between torch's devices: waiting for them, and their memory."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.profiler import ProfilerActivity, supported_activities

from runner.backends.base import DeviceMemory

Wait = Callable[[], None]
"""Returns when the device has finished all that was asked of it."""


def wait_for(device: torch.device) -> Wait:
    """How to wait for that device; the CPU has finished when a call returns."""
    if device.type == "cpu":
        return _finished
    return partial(torch.accelerator.synchronize, device)


def activities(device: torch.device) -> set[ProfilerActivity]:
    """What torch's profiler can watch there: the host, and an accelerator's kernels."""
    if device.type == "cpu":
        return {ProfilerActivity.CPU}
    return set(supported_activities())  # type: ignore[no-untyped-call]


class MemoryGauge:
    """Reads the memory of CUDA and ROCm devices; others tell nothing."""

    def __init__(self, device: torch.device, accelerator: Any = torch.accelerator) -> None:
        self._device = device
        self._accelerator = accelerator
        self._before_bytes = self._used_bytes() if device.type == "cuda" else 0

    def read(self, *, reset: bool = False) -> DeviceMemory | None:
        """The memory now, less what was in use before this gauge was made."""
        if self._device.type != "cuda":
            return None
        memory = DeviceMemory(
            allocator_peak_bytes=self._accelerator.max_memory_allocated(self._device),
            used_bytes=max(0, self._used_bytes() - self._before_bytes),
        )
        if reset:
            self._accelerator.reset_peak_memory_stats(self._device)
        return memory

    def _used_bytes(self) -> int:
        free, total = self._accelerator.get_memory_info(self._device)
        return int(total - free)


def _finished() -> None:
    """Nothing to wait for."""
