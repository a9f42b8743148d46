"""numpy for statistics and predictions: the extra `analysis` installs it.

A module that imports this needs the extra; one that does not runs without. What scipy has stands
in `solvers`, since it takes longer to import than a prediction to make.
"""

from typing import TYPE_CHECKING, TypeAlias

from runner.contract.errors import UsageError
from runner.contract.installation import how_to_install

if TYPE_CHECKING:
    from analysis.statistics.solvers import sparse


def missing_extra() -> UsageError:
    """The error that says how to install what is missing."""
    return UsageError(
        "verdicts and predictions need the extra `analysis`, which is not installed",
        hint=f"{how_to_install('analysis')} installs it",
    )


try:
    import numpy as np
except ImportError as error:
    raise missing_extra() from error

__all__ = ["Places", "ValueTable", "Values", "missing_extra", "np"]

Values: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""An array of numbers of double precision."""
Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
"""An array of indices."""
ValueTable: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""The same with rows and columns."""


_SMALLEST = 1e-16
"""The squared gradient by the first one, below which the solution is reached."""


def damped_least_squares(matrix: "sparse.csr_matrix", y: Values, iterations: int) -> Values:
    """The x with the least |matrix x − y|² + |x|², as near as so many iterations come.

    Hestenes and Stiefel (1952), "Methods of conjugate gradients for solving linear systems", on the
    normal equations. It takes no product of vectors from BLAS, as scipy's solvers do: OpenBLAS
    shares those among threads, which wait for each other on a busy machine.

    Args:
        matrix: the columns; (n, k).
        y: what they shall add up to; (n,).
        iterations: the most of them.
    """
    transposed = matrix.T.tocsr()
    x = np.zeros(matrix.shape[1])
    residual = np.array(y)
    gradient = transposed @ residual
    direction = gradient.copy()
    size = first = _squared(gradient)
    for _ in range(iterations):
        if size <= _SMALLEST * first:
            break
        image = matrix @ direction
        step = size / (_squared(image) + _squared(direction))
        x += step * direction
        residual -= step * image
        gradient = transposed @ residual - x
        size, before = _squared(gradient), size
        direction = gradient + size / before * direction
    return x


def _squared(vector: Values) -> float:
    return float(np.einsum("i,i", vector, vector))
