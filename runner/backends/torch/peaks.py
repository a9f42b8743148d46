"""Torch's own product of matrices and its copy, on the session's device."""

import torch

from runner.backends.peaks import TILE_ROWS, Kernel, PeakKernels
from runner.backends.torch.device import Wait

_LEAST_BYTES = 64 << 20
"""See the arena of `runner.backends.peaks`."""


class TorchPeaks:
    """Makes kernels on one device; their buffers go with them."""

    def __init__(self, device: torch.device, dtype: torch.dtype, wait: Wait) -> None:
        self._device = device
        self._dtype = dtype
        self._wait = wait

    def kernels(self, *, quantised: bool) -> PeakKernels:
        """The kernels; eager mode has no product of quantised matrices that all layers share."""
        return PeakKernels(
            method=f"torch.mm and Tensor.copy_ in {self._dtype}",
            product=None if quantised else self.product,
            copy=self.copy,
            cache_bytes=self._cache_bytes(),
        )

    def product(self, size: int) -> Kernel:
        """The product of two matrices of normal numbers whose rows repeat."""
        buffer = self._buffer(3 * size * size)
        left, right, result = buffer[: 3 * size * size].view(3, size, size).unbind()
        generator = torch.Generator(self._device).manual_seed(0)
        tile = torch.randn(TILE_ROWS, size, generator=generator, device=self._device)
        for matrix in (left, right):
            matrix.view(-1, TILE_ROWS, size).copy_(tile)

        def multiply() -> None:
            torch.mm(left, right, out=result)
            self._wait()

        return multiply

    def copy(self, size: int) -> Kernel:
        """The copy of one array into another."""
        elements = size // self._dtype.itemsize
        source, target = self._buffer(2 * elements)[: 2 * elements].fill_(1).view(2, -1).unbind()

        def copy() -> None:
            target.copy_(source)
            self._wait()

        return copy

    def _buffer(self, elements: int) -> torch.Tensor:
        least = _LEAST_BYTES // self._dtype.itemsize
        return torch.empty(max(elements, least), dtype=self._dtype, device=self._device)

    def _cache_bytes(self) -> int | None:
        if self._device.type != "cuda":
            return None
        properties = torch.cuda.get_device_properties(self._device)
        return getattr(properties, "L2_cache_size", None) or None
