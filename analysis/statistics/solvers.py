"""scipy for statistics and the fits of predictors, and damped least squares: the extra `analysis`.

Who predicts needs none of it, and imports none: fits import it where they begin.
"""

from analysis.statistics.arrays import Values, missing_extra, np

try:
    from scipy import sparse
    from scipy.optimize import nnls
    from scipy.special import stdtr, stdtrit
except ImportError as error:
    raise missing_extra() from error

__all__ = ["damped_least_squares", "nnls", "sparse", "stdtr", "stdtrit"]

_SMALLEST = 1e-16
"""The squared gradient by the first one, below which the solution is reached."""


def damped_least_squares(matrix: sparse.csr_matrix, y: Values, iterations: int) -> Values:
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
