"""Kernels whose speed is a device's roof: a product of matrices and a copy, by the runtime itself.

A model can be no faster than the products it consists of, nor than the memory behind them
(Williams, Waterman and Patterson 2009). Each runtime brings what it multiplies with itself, so no
runtime needs another's library, and the view of results takes the best that any of them reached.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Kernel = Callable[[], object]
"""Executes once, and waits until the device has finished."""
Sized = Callable[[int], Kernel]
"""Makes a kernel of that size."""

TILE_ROWS = 64
"""Rows of random numbers that a matrix repeats: to draw all of it would take longer than to
multiply."""
_ARENA_BYTES = 64 << 20
"""Least size of a buffer: glibc serves 32 MiB and more by `mmap` and gives them back at once, while
a smaller one that is freed would change how the model's own buffers are allocated (mallopt(3),
M_MMAP_THRESHOLD)."""


@dataclass(frozen=True)
class PeakKernels:
    """The kernels of one session, in its precision and with its threads."""

    method: str = "no kernels of this device are measured"
    """The calls behind them, for the record."""
    product: Sized | None = None
    """Multiplies two square matrices of so many rows; None where the precision has no product."""
    copy: Sized | None = None
    """Reads an array of so many bytes and writes another one; None where nothing measures it."""
    cache_bytes: int | None = None
    """Last cache of an accelerator; None if nobody tells, and on the CPU."""


def arena(elements: int, number: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """An array in a mapping of its own, not written yet."""
    least = -(-_ARENA_BYTES // np.dtype(number).itemsize)
    return np.empty(max(elements, least), number)[:elements]


def random_matrix(size: int, number: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """A square matrix of normal numbers, whose rows repeat."""
    matrix = arena(size * size, number).reshape(-1, TILE_ROWS * size)
    drawn = np.random.default_rng(0).standard_normal(TILE_ROWS * size, np.float32)
    matrix[:] = drawn.astype(number)
    return matrix.reshape(size, size)
