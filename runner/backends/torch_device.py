"""What differs between torch's devices: waiting for them, and their memory."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.profiler import ProfilerActivity, supported_activities

from runner.backends.base import DeviceMemory

ACCELERATORS = ("cuda", "mps")
"""Torch's names for devices with memory to tell of; ROCm's is `cuda`, too."""

Wait = Callable[[], None]
"""Returns when the device has finished all that was asked of it."""


def wait_for(device: torch.device) -> Wait:
    """How to wait for that device; the CPU has finished when a call returns."""
    if device.type == "cpu":
        return _finished
    return partial(torch.accelerator.synchronize, device)


def activities(device: torch.device) -> set[ProfilerActivity]:
    """What torch's profiler can watch there: the host, and an accelerator's kernels if any."""
    if device.type == "cpu":
        return {ProfilerActivity.CPU}
    return set(supported_activities())  # type: ignore[no-untyped-call]


def computes_in(dtype: torch.dtype, device: torch.device) -> str:
    """The type of a model's numbers, and whether this CPU only stands in for it."""
    if dtype != torch.float16 or device.type != "cpu" or _has_fp16():
        return str(dtype)
    return f"{dtype}, without instructions of the processor's own: slower than torch.float32"


def _has_fp16() -> bool:
    """Whether oneDNN multiplies matrices of fp16 with this processor's instructions."""
    return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())


class MemoryGauge:
    """Reads the memory of accelerators; the CPU's is the host's.

    On CUDA and ROCm the driver counts the whole device; on MPS, which shares the host's memory,
    what Metal gave this process, and the allocator keeps no peak there.
    """

    def __init__(self, device: torch.device, library: Any = torch) -> None:
        self._device = device
        self._library = library
        self._before_bytes = self._used_bytes()

    def read(self, *, reset: bool = False) -> DeviceMemory | None:
        """The memory now, less what was in use before this gauge was made."""
        if self._device.type not in ACCELERATORS:
            return None
        used = max(0, self._used_bytes() - self._before_bytes)
        return DeviceMemory(allocator_peak_bytes=self._peak_bytes(reset=reset), used_bytes=used)

    def trim(self) -> None:
        """Give back the blocks that the allocator keeps for tensors to come."""
        if self._device.type in ACCELERATORS:
            getattr(self._library, self._device.type).empty_cache()

    def _peak_bytes(self, *, reset: bool) -> int | None:
        if self._device.type != "cuda":
            return None
        peak = int(self._library.cuda.max_memory_allocated(self._device))
        if reset:
            self._library.cuda.reset_peak_memory_stats(self._device)
        return peak

    def _used_bytes(self) -> int:
        if self._device.type == "mps":
            return int(self._library.mps.driver_allocated_memory())
        if self._device.type != "cuda":
            return 0
        free, total = self._library.cuda.mem_get_info(self._device)
        return int(total - free)


def _finished() -> None:
    """Nothing to wait for."""
