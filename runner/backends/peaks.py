"""Kernels whose speed is a device's roof: a product of matrices and a copy, by the runtime itself.

A model can be no faster than its products and the memory behind them (Williams, Waterman and
Patterson 2009). The view of results takes the best that any runtime reached by its own kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Kernel = Callable[[], object]
"""Executes once, and waits until the device has finished."""
Sized = Callable[[int], Kernel]
"""Makes a kernel of that size."""
SizedProduct = Callable[[int], Kernel | None]
"""The same; None where the runtime would compute the product in other numbers than the cell's."""

TILE_ROWS = 64
"""Random rows that a matrix repeats, as to draw all would take longer than to multiply."""
INTEGERS_PER_UNIT = 16
"""Whole numbers are normal ones times this, so that four deviations fit into seven bits."""
_LARGEST, _UNSIGNED_ZERO = 64, 128
"""With weights of seven bits two products fit into 16 bits, in which processors without VNNI add
them up; the zero of unsigned numbers is their middle, as a runtime chooses it for such inputs."""
ARENA_BYTES = 64 << 20
"""Least size of a buffer: glibc serves 32 MiB and more by `mmap` and gives them back at once, while
a smaller one that is freed would change how the model's own buffers are allocated (mallopt(3),
M_MMAP_THRESHOLD)."""


@dataclass(frozen=True)
class PeakKernels:
    """The kernels of one session, in its precision and with its threads."""

    method: str = "no kernels of this device are measured"
    product: SizedProduct | None = None
    """Multiplies two square matrices of so many rows; None where the device has no such product."""
    copy: Sized | None = None
    """Reads an array of so many bytes and writes another one; None where nothing measures it."""
    cache_bytes: int | None = None
    """Last cache of an accelerator; None if nobody tells, and on the CPU."""
    last_rows: int | None = None
    """Rows of the largest matrices to multiply; None if time alone bounds them."""


def last_integer_rows(threads: int) -> int:
    """Rows of the largest matrices of whole numbers: few threads multiply larger ones no faster."""
    return 1024 if threads <= 8 else 2048


def arena(elements: int, number: npt.DTypeLike) -> npt.NDArray[np.generic]:
    least = -(-ARENA_BYTES // np.dtype(number).itemsize)
    return np.empty(max(elements, least), number)[:elements]


def random_matrix(size: int, number: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """A square matrix of normal numbers, whose rows repeat; whole ones in steps of a sixteenth."""
    matrix = arena(size * size, number).reshape(-1, TILE_ROWS * size)
    drawn = np.random.default_rng(0).standard_normal(TILE_ROWS * size, np.float32)
    if np.issubdtype(number, np.integer):
        drawn = np.clip(np.rint(INTEGERS_PER_UNIT * drawn), -_LARGEST, _LARGEST)
        drawn += _UNSIGNED_ZERO * np.issubdtype(number, np.unsignedinteger)
    matrix[:] = drawn.astype(number)
    return matrix.reshape(size, size)
