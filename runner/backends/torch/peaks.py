"""Torch's own product of matrices and its copy, on the session's device."""

import torch

from runner.backends.peaks import ARENA_BYTES, TILE_ROWS, Kernel, PeakKernels, SizedProduct
from runner.backends.torch.device import Wait
from runner.backends.torch.int8 import packed_method, quantise, quantise_rows

_LAST_PACKED_ROWS = 1024
"""A quantised layer allocates its outputs at each call, 4 MiB of so many rows. Larger ones are no
faster, take longer to pack than to multiply, and may change how the model's own are allocated."""


class TorchPeaks:
    """Makes kernels on one device; their buffers go with them."""

    def __init__(self, device: torch.device, dtype: torch.dtype, wait: Wait) -> None:
        self._device = device
        self._dtype = dtype
        self._wait = wait

    def kernels(self, *, quantised: bool) -> PeakKernels:
        """The kernels; the product of quantised layers is that by which they multiply there."""
        is_packed = quantised and self._device.type == "cpu"
        product: SizedProduct
        if is_packed:
            name, product = packed_method(), self.packed_product
        elif quantised:
            name, product = "torch._int_mm", self.integer_product
        else:
            name, product = "torch.mm", self.product
        cache_bytes = None
        if self._device.type == "cuda":
            properties = torch.cuda.get_device_properties(self._device)
            cache_bytes = getattr(properties, "L2_cache_size", None) or None
        return PeakKernels(
            method=f"{name} and Tensor.copy_ in {self._dtype}",
            product=product,
            last_rows=_LAST_PACKED_ROWS if is_packed else None,
            copy=self.copy,
            cache_bytes=cache_bytes,
        )

    def product(self, size: int) -> Kernel:
        left, right, result = self._matrices(3, size, self._dtype)
        _fill((left, right), self._tile(size))

        def multiply() -> None:
            torch.mm(left, right, out=result)
            self._wait()

        return multiply

    def packed_product(self, size: int) -> Kernel:
        inputs, weight = self._matrices(2, size, self._dtype)
        _fill((inputs, weight), self._tile(size))
        linear = torch.nn.Linear(size, size, bias=False, device="meta")  # draws no numbers
        linear.weight = torch.nn.Parameter(weight, requires_grad=False)
        layer = torch.nn.Sequential(linear)
        quantise(layer, self._device.type)

        def multiply() -> torch.Tensor:
            outputs: torch.Tensor = layer(inputs)
            self._wait()
            return outputs

        return multiply

    def integer_product(self, size: int) -> Kernel:
        """The product of whole numbers inside a layer that multiplies plain tensors."""
        left, right = self._matrices(2, size, torch.int8)
        (sums,) = self._matrices(1, size, torch.int32)
        _fill((left, right), quantise_rows(self._tile(size))[0])

        def multiply() -> torch.Tensor:
            torch._int_mm(left, right.t(), out=sums)
            self._wait()
            return sums

        return multiply

    def copy(self, size: int) -> Kernel:
        elements = size // self._dtype.itemsize
        source, target = self._buffer(2 * elements, self._dtype).fill_(1).view(2, -1).unbind()

        def copy() -> None:
            target.copy_(source)
            self._wait()

        return copy

    def _tile(self, size: int) -> torch.Tensor:
        generator = torch.Generator(self._device).manual_seed(0)
        return torch.randn(TILE_ROWS, size, generator=generator, device=self._device)

    def _matrices(self, number: int, size: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        return self._buffer(number * size * size, dtype).view(number, size, size).unbind()

    def _buffer(self, elements: int, dtype: torch.dtype) -> torch.Tensor:
        least = ARENA_BYTES // dtype.itemsize
        return torch.empty(max(elements, least), dtype=dtype, device=self._device)[:elements]


def _fill(matrices: tuple[torch.Tensor, ...], tile: torch.Tensor) -> None:
    for matrix in matrices:
        matrix.view(-1, *tile.shape).copy_(tile)
